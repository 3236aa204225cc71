"""Where source code asks a set for its order. Texts hash differently in every process, so sets of them come out in
another order each time; a history that met one such loop differs from run to run.

A hint, not a proof: an expression counts as a set if it is written as one, or if a name that it ends in is annotated or
assigned as one. Names of fields and functions are looked up across the whole tree by name alone; one that is a set in
one class and something else in another is passed over. Rejected: asking the type checker, which knows more and has no
stable way to be asked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tests.house import Module

_ANNOTATED = re.compile(r"(typing\.)?(set|frozenset|AbstractSet|MutableSet|Set)\b")
_MAKERS = ("set", "frozenset")
_METHODS = ("union", "intersection", "difference", "symmetric_difference", "copy")
#: Functions that answer the same whatever the order.
_ORDERLESS = ("sorted", "set", "frozenset", "len", "any", "all", "sum", "min", "max")
#: Functions that keep the order of what they are given.
_ORDERED = (
    "list", "tuple", "enumerate", "iter", "zip", "map", "filter", "reversed", "deque", "Counter", "chain",
    "from_iterable", "join", "extend", "fromkeys",
)  # fmt: skip

#: A name -> whether it is a set; None if it is in one place and is not in another.
Known = dict[str, bool | None]


def asks_a_set_for_order(tree: Sequence[Module]) -> list[str]:
    shared: Known = {}
    for module in tree:
        _learn_shared(module.tree, shared)
    broken = []
    for module in tree:
        for scope in _scopes(module.tree):
            local: Known = {}
            _learn_local(scope, local)
            broken += [module.at(node, ast.unparse(node)[:80]) for node in _Asked(local, shared).of(scope)]
    return sorted(set(broken))


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    yield from (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of functions inside it; classes belong to what is around them."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _own(child)


def _note(known: Known, name: str, is_set: bool) -> None:
    known[name] = is_set if known.get(name, is_set) == is_set else None


def _is_annotation(node: ast.expr | None) -> bool:
    return node is not None and _ANNOTATED.match(ast.unparse(node).strip("'\"")) is not None


def _learn_shared(tree: ast.Module, known: Known) -> None:
    """Fields and functions, by annotation, or by what `self.x` is assigned."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            _note(known, node.name, _is_annotation(node.returns))
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    _note(known, item.target.id, _is_annotation(item.annotation))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            _note(known, node.target.attr, _is_annotation(node.annotation))
        elif isinstance(node, ast.Assign) and _written_as_set(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    _note(known, target.attr, True)


def _learn_local(scope: ast.AST, known: Known) -> None:
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for argument in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs):
            _note(known, argument.arg, _is_annotation(argument.annotation))
    for node in _own(scope):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            _note(known, node.target.id, _is_annotation(node.annotation))
        elif isinstance(node, ast.Assign) and _written_as_set(node.value):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    _note(known, target.id, True)


def _written_as_set(node: ast.expr) -> bool:
    return _Asked({}, {}).is_set(node)


class _Asked:
    """Finds the expressions of a scope that ask a set for its order."""

    def __init__(self, local: Known, shared: Known) -> None:
        self.local = local
        self.shared = shared

    def is_set(self, node: ast.expr) -> bool:
        if isinstance(node, (ast.Set, ast.SetComp)):
            return True
        if isinstance(node, ast.Name):
            return bool(self.local.get(node.id))
        if isinstance(node, ast.Attribute):
            return bool(self.shared.get(node.attr))
        if isinstance(node, ast.BinOp):
            made = isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub))
            return made and (self.is_set(node.left) or self.is_set(node.right) or _keys(node.left))
        if isinstance(node, ast.IfExp):
            return self.is_set(node.body) or self.is_set(node.orelse)
        if isinstance(node, ast.BoolOp):
            return any(map(self.is_set, node.values))
        if isinstance(node, ast.Call):
            name = _name(node)
            own = isinstance(node.func, ast.Name)
            method = isinstance(node.func, ast.Attribute) and name in _METHODS and self.is_set(node.func.value)
            return (own and name in _MAKERS) or method or bool(self.shared.get(name))
        return False

    def of(self, scope: ast.AST) -> Iterator[ast.expr]:
        asked: list[ast.expr] = []
        orderless: list[int] = []
        for node in _own(scope):
            if isinstance(node, ast.Call):
                name = _name(node)
                keyed = any(keyword.arg == "key" for keyword in node.keywords)  # equal keys keep their order
                texts = name != "join" or len(node.args) == 1  # `", ".join(names)`, not `tally.join(found, ends)`
                if (name in _ORDERED and texts) or (name in _ORDERLESS and keyed):
                    asked += node.args
                elif name in _ORDERLESS:
                    orderless += [id(argument) for argument in node.args]
                if name == "pop" and not node.args and isinstance(node.func, ast.Attribute):
                    asked.append(node.func.value)
            elif isinstance(node, ast.Set):
                orderless += [id(item) for item in node.elts]
            elif id(node) not in orderless:
                asked += _asked_by(node)
        return (node for node in asked if self.is_set(node))


def _asked_by(node: ast.AST) -> list[ast.expr]:
    """What a loop, a comprehension, an unpacking or a `yield from` goes through in order."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter]
    if isinstance(node, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
        return [part.iter for part in node.generators]
    if isinstance(node, (ast.Starred, ast.YieldFrom)):
        return [node.value]
    if isinstance(node, ast.Assign) and any(isinstance(target, ast.Tuple) for target in node.targets):
        return [node.value]
    return []


def _keys(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node) in ("keys", "items")


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
