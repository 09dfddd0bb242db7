"""How long a fetch would take, in virtual time."""
