"""CloudFormation's properties in the names and types of the service's API.

botocore's service model says which keys are members of a structure (and may be renamed) and
which are keys of a map, such as a log driver's options (and may not).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape


class PropertyError(ValueError):
    """A property that the service does not have, or has in another type."""


@lru_cache
def _service(name: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def to_api(service: str, shape: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Rename and retype the properties of a resource.

    Args:
        service: botocore's name of the service, such as ``batch``.
        shape: The request that creates the resource, such as ``RegisterJobDefinitionRequest``.
        properties: The resource's properties, with all references resolved.

    Returns:
        The same as arguments of the API.

    Raises:
        PropertyError: A property that the service does not know or cannot read.
    """
    converted: dict[str, Any] = _convert(_service(service).shape_for(shape), properties, "")
    return converted


def _convert(shape: Shape, value: Any, path: str) -> Any:  # noqa: ANN401
    if isinstance(shape, StructureShape):
        return _structure(shape, _expect(value, dict, path), path)
    if isinstance(shape, ListShape):
        items = _expect(value, list, path)
        return [_convert(shape.member, item, f"{path}/{i}") for i, item in enumerate(items)]
    if isinstance(shape, MapShape):
        return {k: _convert(shape.value, v, f"{path}/{k}") for k, v in _expect(value, dict, path).items()}
    return _scalar(shape, value, path)


def _structure(shape: StructureShape, value: dict[str, Any], path: str) -> dict[str, Any]:
    members = {name.lower(): name for name in shape.members}
    result = {}
    for key, item in value.items():
        name = members.get(key.lower())
        if name is None:
            raise PropertyError(f"#{path}: extraneous key [{key}] is not permitted")
        result[name] = _convert(shape.members[name], item, f"{path}/{key}")
    missing = [name for name in shape.required_members if name not in result]
    if missing:
        raise PropertyError(f"#{path}: required key [{missing[0]}] not found")
    return result


def _expect(value: Any, kind: type, path: str) -> Any:  # noqa: ANN401
    if not isinstance(value, kind):
        raise PropertyError(f"#{path}: expected type: {kind.__name__}, found: {type(value).__name__}")
    return value


def _scalar(shape: Shape, value: Any, path: str) -> Any:  # noqa: ANN401
    try:
        if shape.type_name in {"integer", "long"}:
            return int(value)
        if shape.type_name in {"float", "double"}:
            return float(value)
    except (TypeError, ValueError):
        raise PropertyError(f"#{path}: expected type: number, found: {value!r}") from None
    if shape.type_name == "boolean":
        return str(value).lower() == "true"
    if isinstance(value, (dict, list)):
        raise PropertyError(f"#{path}: expected type: string, found: {type(value).__name__}")
    return str(value).lower() if isinstance(value, bool) else str(value)
