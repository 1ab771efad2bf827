"""What must outlive everything else: runs, records, cursors, keys and artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.acknowledge import acknowledge, logical_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.function import Function

_COMMIT: Final = (
    "dynamodb:GetItem",
    "dynamodb:BatchGetItem",
    "dynamodb:Query",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:BatchWriteItem",
)
"""What reading and committing needs: no scan, and no deletion, which is left to the expiry."""

_READ: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")

_REMEMBER: Final = (
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
)
"""What Powertools' idempotency layer calls."""

BY_TENANT: Final = "by_tenant"
DUE: Final = "due"
ACTIVE: Final = "active"
OPEN: Final = "open"

_STRING: Final = dynamodb.AttributeType.STRING


class State(Construct):
    """Four tables and a bucket. With `keep` they survive the destruction of the stack.

    Not the rollback of the deployment that made them: they hold nothing yet, and would be left
    over. With `protect` nobody can delete a table, not even by name, nor can a rollback.
    """

    def __init__(self, scope: Construct, identifier: str, *, keep: bool, protect: bool) -> None:
        super().__init__(scope, identifier)
        self._removal = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if keep else RemovalPolicy.DESTROY
        self._protect = protect
        self.runs: Final = self._runs_table()
        self.idempotency: Final = dynamodb.Table(
            self,
            "Idempotency",
            partition_key=dynamodb.Attribute(name="id", type=_STRING),
            time_to_live_attribute="expiration",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=_recovery(),
            removal_policy=self._removal,
            deletion_protection=self._protect,
        )
        self.cursors: Final = self._pairs("Cursors")
        self.access: Final = self._pairs("Access", dynamodb.TableEncryption.AWS_MANAGED)
        self.artifacts: Final = self._artifacts_bucket()

    @property
    def tables(self) -> tuple[dynamodb.Table, ...]:
        """All tables."""
        return tuple(each for each in self.node.children if isinstance(each, dynamodb.Table))

    def let_commit(self, *functions: Function) -> None:
        """Let functions read runs and commit to them; the indexes are not theirs to read."""
        for function in functions:
            _grant(function, _COMMIT, self.runs.table_arn)

    def let_read(self, *functions: Function) -> None:
        """Let functions read rows by their keys."""
        for function in functions:
            _grant(function, ("dynamodb:GetItem", "dynamodb:Query"), self.runs.table_arn)

    def let_mark_deliveries(self, function: Function) -> None:
        """Let a function move cursors, whose last move shows in the run row."""
        actions = ("dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem")
        _grant(function, actions, self.runs.table_arn)

    def let_list(self, function: Function) -> None:
        """Let a function list the runs of a tenant, and those that wait for a person."""
        for index in (BY_TENANT, OPEN):
            _grant(function, ("dynamodb:Query",), f"{self.runs.table_arn}/index/{index}")

    def let_find_due(self, *functions: Function) -> None:
        """Let functions find runs at which somebody has to look, and deliveries that are dead."""
        for function in functions:
            _grant(function, ("dynamodb:Query",), f"{self.runs.table_arn}/index/{DUE}")

    def let_count_active(self, *functions: Function) -> None:
        """Let functions count a tenant's runs that have not ended."""
        for function in functions:
            _grant(function, ("dynamodb:Query",), f"{self.runs.table_arn}/index/{ACTIVE}")

    def let_remember(self, *functions: Function) -> None:
        """Let functions keep idempotency records."""
        for function in functions:
            _grant(function, _REMEMBER, self.idempotency.table_arn)

    def let_read_runs(self, function: Function) -> None:
        """Let a function read runs and change nothing of them."""
        _grant(function, _READ, self.runs.table_arn)

    def let_follow(self, function: Function, *verbs: str) -> None:
        """Let a function do some things, such as "Put", with single cursors and tickets."""
        actions = [f"dynamodb:{verb}Item" for verb in verbs if verb != "Query"]
        actions += ["dynamodb:Query"] * ("Query" in verbs)
        _grant(function, actions, self.cursors.table_arn)

    def let_fetch(self, *functions: Function) -> None:
        """Let functions get artifacts and large payloads, and learn that one is missing.

        Without leave to list, S3 answers 403 for an object that is not there.
        """
        for function in functions:
            _grant(function, ("s3:ListBucket",), self.artifacts.bucket_arn)
            self._let_objects(function, "s3:GetObject")

    def let_store(self, *functions: Function) -> None:
        """Let functions put them as well."""
        self.let_fetch(*functions)
        for function in functions:
            self._let_objects(function, "s3:PutObject")

    def let_forget(self, function: Function) -> None:
        """Let a function delete payloads of runs; artifacts and uploads nobody may delete."""
        _grant(function, ("s3:DeleteObject",), self.artifacts.arn_for_objects("*/payloads/*"))
        acknowledge(
            function,
            f"IAM5[Resource::<{logical_id(self.artifacts)}.Arn>/*/payloads/*]",
            "A payload is named after its tenant and its run, of which there are ever new ones.",
        )

    def _let_objects(self, function: Function, action: str) -> None:
        _grant(function, (action,), self.artifacts.arn_for_objects("*"))
        acknowledge(
            function,
            f"IAM5[Resource::<{logical_id(self.artifacts)}.Arn>/*]",
            "An object is named after its tenant and its content, so its key is known only when it"
            " is written; the code can name nothing outside the run's tenant.",
        )

    def _pairs(
        self, identifier: str, encryption: dynamodb.TableEncryption | None = None
    ) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            identifier,
            partition_key=dynamodb.Attribute(name="pk", type=_STRING),
            sort_key=dynamodb.Attribute(name="sk", type=_STRING),
            time_to_live_attribute="expires_at",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=_recovery(),
            encryption=encryption,
            removal_policy=self._removal,
            deletion_protection=self._protect,
        )

    def _runs_table(self) -> dynamodb.Table:
        table = dynamodb.Table(
            self,
            "Runs",
            partition_key=dynamodb.Attribute(name="pk", type=_STRING),
            sort_key=dynamodb.Attribute(name="sk", type=_STRING),
            stream=dynamodb.StreamViewType.NEW_IMAGE,
            time_to_live_attribute="expires_at",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=_recovery(),
            removal_policy=self._removal,
            deletion_protection=self._protect,
        )
        # Never `seq`: it moves with every step, and each move would write to the index as well.
        table.add_global_secondary_index(
            index_name=BY_TENANT,
            partition_key=dynamodb.Attribute(name="tenant_pk", type=_STRING),
            sort_key=dynamodb.Attribute(name="created_at", type=_STRING),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=["status", "workflow", "run_id", "ended_at"],
        )
        # Sparse: a run carries these two only while somebody must look at it when nothing moves.
        table.add_global_secondary_index(
            index_name=DUE,
            partition_key=dynamodb.Attribute(name="due_shard", type=_STRING),
            sort_key=dynamodb.Attribute(name="due_at", type=dynamodb.AttributeType.NUMBER),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )
        # Sparse: a run carries these two until it has ended. It is written to when what the run
        # does changes, when it is extended and when it fans out, never with a single step.
        table.add_global_secondary_index(
            index_name=ACTIVE,
            partition_key=dynamodb.Attribute(name="active_pk", type=_STRING),
            sort_key=dynamodb.Attribute(name="active_sk", type=_STRING),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=["steps_total", "children"],
        )
        # Sparse: a row carries these two only while a person is asked something about it.
        table.add_global_secondary_index(
            index_name=OPEN,
            partition_key=dynamodb.Attribute(name="open_pk", type=_STRING),
            sort_key=dynamodb.Attribute(name="open_sk", type=_STRING),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=["status", "workflow", "run_id", "created_at", "ended_at"],
        )
        return table

    def _artifacts_bucket(self) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Artifacts",
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=self._removal,
            lifecycle_rules=[
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1))
            ],
            # Any origin: the presigned URL is the credential, and browsers send no other here.
            cors=[
                s3.CorsRule(
                    allowed_origins=["*"],
                    allowed_methods=[s3.HttpMethods.GET, s3.HttpMethods.PUT],
                    allowed_headers=["*"],
                    exposed_headers=["ETag"],
                    max_age=3600,
                )
            ],
        )
        acknowledge(
            bucket,
            "S1",
            "Clients come with presigned URLs, and an S3 access log keeps query strings, which are"
            " credentials here; who asked for which URL is in the API's access log.",
        )
        return bucket


def _recovery() -> dynamodb.PointInTimeRecoverySpecification:
    return dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True)


def _grant(function: Function, actions: Sequence[str], resource: str) -> None:
    iam.Grant.add_to_principal(grantee=function, actions=list(actions), resource_arns=[resource])
