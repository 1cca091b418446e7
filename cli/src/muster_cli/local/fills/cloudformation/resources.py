"""How a resource of a type is made, changed and removed: a fill where moto's way is wrong, else moto's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import UnformattedGetAttTemplateException
from moto.cloudformation.utils import random_suffix
from moto.ec2.models import ec2_backends
from moto.ec2.models.core import TaggedEC2Resource

if TYPE_CHECKING:
    from moto.core.common_models import CloudFormationModel

_LOWER_CASE = ("AWS::S3::Bucket", "AWS::ECR::Repository")
_UNSUPPORTED = ("AWS::CloudFormation::Stack",)
"""moto has it, but a failed nested stack would count as made."""

Properties = dict[str, Any]


class ReplacementError(Exception):
    """Raised by an update that only a new resource can carry out."""


class Site(NamedTuple):
    """Where a resource is made."""

    account: str
    region: str
    stack_id: str
    stack_name: str
    logical_id: str
    resource_type: str
    tags: dict[str, str]
    """The stack's own tags."""


class Made:
    """A resource that a fill made.

    Args:
        physical_id: What ``Ref`` gives.
        attributes: What ``Fn::GetAtt`` gives. Default: - none.
    """

    def __init__(self, physical_id: str, attributes: dict[str, Any] | None = None) -> None:
        self.physical_resource_id = physical_id
        self._attributes = attributes or {}

    def get_cfn_attribute(self, name: str) -> Any:  # noqa: ANN401
        """Return an attribute for ``Fn::GetAtt``.

        Args:
            name: The attribute.

        Raises:
            UnformattedGetAttTemplateException: The resource does not have it.
        """
        if name not in self._attributes:
            raise UnformattedGetAttTemplateException
        return self._attributes[name]


class Fill:
    """A resource type: the base of all fills. An update is a replacement unless it says otherwise."""

    resource_type: str
    name_property: str = ""

    def create(self, site: Site, name: str, properties: Properties) -> Any:  # noqa: ANN401
        """Make the resource.

        Args:
            site: Where.
            name: Its physical name: the template's, else a generated one.
            properties: Its properties, with all references resolved.

        Returns:
            An object with ``physical_resource_id`` and ``get_cfn_attribute``.
        """
        raise NotImplementedError

    def update(self, site: Site, resource: Any, old: Properties, new: Properties) -> Any:  # noqa: ANN401, ARG002
        """Change the resource in place.

        Args:
            site: Where.
            resource: What :meth:`create` returned.
            old: The properties that it was made with.
            new: The properties that it shall have.

        Returns:
            The resource, perhaps with another physical id.

        Raises:
            ReplacementError: Only a new resource has these properties.
        """
        raise ReplacementError

    def delete(self, site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401
        """Remove the resource.

        Args:
            site: Where.
            resource: What :meth:`create` returned.
            properties: The properties that it has.
        """
        raise NotImplementedError


def physical_id_of(resource: Any) -> str:  # noqa: ANN401
    """Return what ``Ref`` gives for a resource.

    Args:
        resource: What a fill or moto made.
    """
    return str(resource.physical_resource_id)


class StockFill(Fill):
    """A type that moto makes, changes and removes well."""

    def __init__(self, model: type[CloudFormationModel]) -> None:
        self.model = model
        self.name_property: str = model.cloudformation_name_type() or ""

    def create(self, site: Site, name: str, properties: Properties) -> Any:  # noqa: ANN401, D102
        definition = {"Type": site.resource_type, "Properties": properties}
        resource = self.model.create_from_cloudformation_json(
            name,
            definition,
            site.account,
            site.region,
            LogicalId=site.logical_id,
            StackId=site.stack_id,
            ResourceType=site.resource_type,
        )
        _tag(site, resource, properties)
        return resource

    def update(self, site: Site, resource: Any, old: Properties, new: Properties) -> Any:  # noqa: ANN401, D102
        if isinstance(resource, TaggedEC2Resource) and _without_tags(old) == _without_tags(new):
            _tag(site, resource, new)
            return resource
        if hasattr(self.model.update_from_cloudformation_json, "__isabstractmethod__"):
            raise ReplacementError
        return self.model.update_from_cloudformation_json(
            original_resource=resource,
            new_resource_name=new.get(self.name_property, getattr(resource, "name", None))
            or resource.physical_resource_id,
            cloudformation_json={"Type": site.resource_type, "Properties": new},
            account_id=site.account,
            region_name=site.region,
        )

    def delete(self, site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401, D102
        if callable(getattr(resource, "delete", None)):
            resource.delete(site.account, site.region)
            return
        if hasattr(self.model.delete_from_cloudformation_json, "__isabstractmethod__"):
            raise NotImplementedError(f"the local cloud cannot delete {site.resource_type}")
        self.model.delete_from_cloudformation_json(
            resource.physical_resource_id,
            {"Type": site.resource_type, "Properties": properties},
            site.account,
            site.region,
        )


def _without_tags(properties: Properties) -> Properties:
    return {key: value for key, value in properties.items() if key != "Tags"}


def _tag(site: Site, resource: Any, properties: Properties) -> None:  # noqa: ANN401
    """Give an EC2 resource its own tags, the stack's, and CloudFormation's."""
    if not isinstance(resource, TaggedEC2Resource):
        return
    own = {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
    tags = {
        **site.tags,
        **own,
        "aws:cloudformation:stack-name": site.stack_name,
        "aws:cloudformation:stack-id": site.stack_id,
        "aws:cloudformation:logical-id": site.logical_id,
    }
    ec2_backends[site.account][site.region].create_tags([physical_id_of(resource)], tags)


FILLS: dict[str, Fill] = {}
"""Fills by resource type; a module of fills adds its own."""


def register(*fills: Fill) -> None:
    """Add fills; they stand before moto's own classes.

    Args:
        *fills: One for each resource type.
    """
    FILLS.update({fill.resource_type: fill for fill in fills})


def is_known(resource_type: str) -> bool:
    """Tell whether the local cloud has a resource type.

    Args:
        resource_type: Such as ``AWS::EC2::VPC``.
    """
    return resource_type in FILLS or (
        resource_type in parsing.get_model_map() and resource_type not in _UNSUPPORTED
    )


def fill_for(resource_type: str) -> Fill:
    """Return how a resource type is made.

    Args:
        resource_type: One that :func:`is_known`.
    """
    return FILLS.get(resource_type) or StockFill(parsing.get_model_map()[resource_type])


def physical_name(site: Site, fill: Fill, properties: Properties) -> str:
    """Return the template's name for a resource, else a generated one of at most 62 characters.

    Args:
        site: Where.
        fill: The resource's type.
        properties: Its properties.
    """
    if fill.name_property and properties.get(fill.name_property):
        return str(properties[fill.name_property])
    name = f"{site.stack_name[:24]}-{site.logical_id[:24]}-{random_suffix()}"
    return name.lower() if site.resource_type in _LOWER_CASE else name
