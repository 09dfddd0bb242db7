# Sourced by the scripts: makes .venv and keeps it in step with setup.cfg.
#
#   bootstrap [EXTRA…]    the project and these extras are installed; sets $root and $venv
#   bootstrap_java        a Java 17+ is on the machine, or the extra `java` is installed
#
# When nothing is to do this reads four small files. An install holds a lock, and its stamp
# is written last, so that two scripts at once or a killed one do no harm.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 2
}

# The first Python that is new enough; $PYTHON overrides the search.
find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
        [[ -z ${PYTHON:-} ]] || break
    done
    local present
    present=$("${PYTHON:-python3}" --version 2>/dev/null) || present="no Python"
    fail "Python 3.11 or newer is needed, found ${present}: install one or set PYTHON to its path"
}

# Debian ships Python without venv; with root it can be had.
require_venv() {
    local python=$1
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        echo "installing python3-venv (once)…" >&2
        { apt-get install -qq -y python3-venv || { apt-get update -qq && apt-get install -qq -y python3-venv; }; } \
            >/dev/null 2>&1 || true
        "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    fi
    fail "$python cannot make virtual environments: install its venv package (apt-get install python3-venv)"
}

# What an install depends on: the place (it is editable) and the declared packages.
wanted_stamp() {
    echo "$root $(cat "$root/setup.cfg" "$root/pyproject.toml" "$root/scripts/constraints.txt" | cksum)"
}

# The words among the arguments (`base` or an extra) that are not installed as wanted.
missing() {
    local wanted=$1 part stamp
    shift
    for part in "$@"; do
        stamp=
        [[ ! -f $venv/.installed-$part ]] || stamp=$(<"$venv/.installed-$part")
        [[ $stamp == "$wanted" && -x $venv/bin/python ]] || echo "$part"
    done
}

make_venv() {
    local python
    # `fail` ends only the subshell here, and `set -e` sleeps inside a condition.
    python=$(find_python) || exit 2
    require_venv "$python"
    # Left by a killed install, or of a Python that is gone.
    rm -rf "$venv"/{bin,lib,lib64,include,pyvenv.cfg} "$venv"/.installed-*
    "$python" -m venv "$venv" >&2 || fail "cannot make a virtual environment in $venv"
}

install() {
    local wanted=$1 part extras
    shift
    [[ -x $venv/bin/python ]] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 || make_venv
    extras=$(printf '%s\n' "$@" | grep -vx base | paste -sd, - || true)
    echo "installing packages into .venv (once)…" >&2
    # Bytecode of what is used is written when it is first imported: to compile all that is
    # installed takes minutes of one core.
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-compile \
        --constraint "$root/scripts/constraints.txt" --editable "$root${extras:+[$extras]}" >&2 ||
        fail "the packages could not be installed; the lines above say why"
    for part in base "$@"; do
        echo "$wanted" >"$venv/.installed-$part"
    done
}

bootstrap() {
    local wanted needed
    wanted=$(wanted_stamp)
    needed=$(missing "$wanted" base "$@")
    [[ -n $needed ]] || return 0
    mkdir -p "$venv" 2>/dev/null && [[ -w $venv ]] || fail "cannot write $venv"
    (
        # Not every system has flock; without it two first runs at once are the user's risk.
        ! command -v flock >/dev/null || flock 9
        needed=$(missing "$wanted" base "$@")
        # shellcheck disable=SC2086
        [[ -z $needed ]] || install "$wanted" $needed
    ) 9>"$venv/.lock" || exit
}

# Reads the version from the file every Java home has; asks the program where it has none.
java_is_new_enough() {
    local java=$1 home version
    [[ -x $java ]] || return 1
    home=$(dirname "$(dirname "$(readlink -f "$java")")")
    if [[ -r $home/release ]]; then
        version=$(sed -n 's/^JAVA_VERSION="\{0,1\}\([0-9]*\).*/\1/p' "$home/release")
    else
        version=$("$java" -version 2>&1 | sed -n 's/.* version "\{0,1\}\([0-9]*\).*/\1/p' | head -1)
    fi
    [[ ${version:-0} -ge 17 ]]
}

have_java() {
    local home
    [[ -n ${JAVA_HOME:-} ]] && java_is_new_enough "$JAVA_HOME/bin/java" && return
    java_is_new_enough "$(command -v java || true)" && return
    for home in /usr/lib/jvm/*; do
        java_is_new_enough "$home/bin/java" && return
    done
    return 1
}

# Not fatal: much of the crawler works without Java, and the rest says what is missing.
bootstrap_java() {
    have_java || (bootstrap java) || true
}
