"""`NamedTuple`, whose classes are made ten times as quickly.

`typing.NamedTuple` compiles a piece of source for every class, a sixth of a millisecond each; a command that runs in
its own process waits for some fifty of them, and a hook runs before every tool of every agent. To a type checker it is
the one of `typing`. What is left out: `_make`, renaming, generics.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter
    from types import MappingProxyType

    class _Making(type):
        def __new__(meta, name, bases, body):
            fields = tuple(body.get("__annotations__", ()))
            if not bases or not fields:  # the root itself, or a class that only adds methods to a record
                return super().__new__(meta, name, bases, {"__slots__": (), **body})
            defaults = {field: body.pop(field) for field in fields if field in body}
            getters = {field: _tuplegetter(place, "") for place, field in enumerate(fields)}
            more = {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            return super().__new__(meta, name, bases, {**body, **getters, **more})

        @property
        def __signature__(cls):
            """For those who look how a record is made; rarely, so it is put together then."""
            from inspect import Parameter, Signature

            return Signature([
                Parameter(
                    field, Parameter.POSITIONAL_OR_KEYWORD, annotation=cls.__annotations__[field],
                    default=cls._field_defaults.get(field, Parameter.empty),
                )
                for field in cls._fields
            ])  # fmt: skip

    class NamedTuple(tuple, metaclass=_Making):
        _fields = ()
        _field_defaults = MappingProxyType({})

        def __new__(cls, *values, **named):
            if named or len(values) != len(cls._fields):
                values = _completed(cls, values, named)
            return tuple.__new__(cls, values)

        def _replace(self, **named):
            made = tuple.__new__(type(self), [named.pop(field, self[n]) for n, field in enumerate(self._fields)])
            if named:
                raise ValueError(f"Got unexpected field names: {list(named)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            told = ", ".join(f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({told})"

        def __getnewargs__(self):
            return tuple(self)

    def _completed(cls, values, named):
        """The values in their order, with what was named and what was left out."""
        fields = cls._fields
        given = dict(zip(fields, values, strict=False)) | named
        known = cls._field_defaults | given
        # Nothing twice and as many as there are: then each that is not known stands for one that is missing.
        if len(given) == len(values) + len(named) and len(known) == len(fields):
            try:
                return [known[field] for field in fields]
            except KeyError:
                pass
        raise TypeError(f"{cls.__name__} takes {fields}, and was given {values} and {named}")
