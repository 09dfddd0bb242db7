"""What setup.cfg cannot say: the packages are those that there are, and conf/ is one of them."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=("crawl", "crawl.*")), "crawl.conf"])
