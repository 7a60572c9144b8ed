"""Names: from the schemas' camelCase to ours."""

import re

CPP_KEYWORDS = frozenset("""
alignas alignof and asm auto bool break case catch char class compl concept const continue decltype
default delete do double else enum explicit export extern false float for friend goto if inline int
long mutable namespace new noexcept not nullptr operator or private protected public register
requires return short signed sizeof static struct switch template this throw true try typedef typeid
typename union unsigned using virtual void volatile while xor
""".split())


def snake_case(name):
    """FetchRequest -> fetch_request, lastKnownElr -> last_known_elr, KRaftVersion -> kraft_version."""
    name = name.replace("KRaft", "Kraft")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    name = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return name.lower()


def member_name(name):
    name = snake_case(name)
    return name + "_" if name in CPP_KEYWORDS else name


def enumerator_name(name):
    """OFFSET_OUT_OF_RANGE -> offset_out_of_range; CreateTopics -> create_topics."""
    name = name.lower() if name.isupper() else snake_case(name)
    return name + "_" if name in CPP_KEYWORDS else name
