export { kindOf } from './brand.ts'
export { CANCEL_SIGNAL, cancelSignalOf } from './cancel-signal.ts'
export type {
  Capability,
  CapabilityDefinition,
  CapabilityResolver,
  ResolvedCapability,
  WithheldTool,
} from './capability.ts'
export { type Catalogue, type CatalogueDeps, createCatalogue } from './catalogue.ts'
export { checkExamples } from './check-examples.ts'
export { isOlderHash } from './checked-tool.ts'
export { isEarlier } from './compose-owners.ts'
export { clashWith } from './compose-problems.ts'
export {
  allowableForGood,
  type ConsentOperationDefinition,
  isOnceOnly,
  type ScopedCall,
  type ScopeFunction,
} from './consent-operation.ts'
export {
  defineCapability,
  defineDependency,
  defineEffect,
  defineForwardingTool,
  definePrompt,
  defineResource,
  defineTool,
  titleFrom,
  toolFailure,
  toolResult,
} from './define.ts'
export type { DependencyDefinition, Probe, ProbeContext, ProbeFunction, ProbeVerdict } from './dependency.ts'
export type { EffectChecker, EffectDefinition, EffectFields, EffectLook } from './effect.ts'
export {
  type CatalogueCapability,
  type CatalogueInjection,
  type CatalogueOp,
  type Dependency,
  type Generation,
  isDeprecated,
  type Knowledge,
  type Prompt,
  type Resource,
  type Tool,
} from './generation.ts'
export { heldBackBy, holdBack, letGo } from './held-back.ts'
export type { FromJsonSchema } from './infer-json-schema.ts'
export { defineInjection, type Injection } from './injection.ts'
export { absentTools, LOST_NAME, notOffered } from './left-out.ts'
export {
  collectDefinitions,
  type Definition,
  defineModule,
  type ModuleDefinition,
  type Paths,
  type RegistryDesk,
  type Secrets,
  type Services,
} from './module.ts'
export { newProblems } from './new-problems.ts'
export { type Op, type OpContext, type OpDefinition, type OpFacts, type OpFault, type OpUse, registerOp } from './op.ts'
export type {
  ForeignText,
  ProgramDesk,
  ProgramOutcome,
  ProgramRequest,
  WebAnswer,
  WebDesk,
  WebOutcome,
  WebRequest,
} from './outside.ts'
export { type PassedContents, passedContents, passedPrompt, passedResult, withoutReserved } from './passed.ts'
export { PAUSE_RUN, pauseRun } from './pause-run.ts'
export type {
  AnyPrompt,
  PromptArgumentDefinition,
  PromptArguments,
  PromptDefinition,
  PromptOutput,
} from './prompt.ts'
export type { ReadingContext, Suggest, SuggestContext, Suggested } from './reading.ts'
export type { AnyResource, ResourceDefinition, ResourceOutput, ResourceRequest, WatchContext } from './resource.ts'
export type {
  DescribedSchema,
  PairedSchema,
  Parsed,
  SchemaCompiler,
  SchemaLike,
  SchemaSide,
  Unparsed,
  Validate,
  Validated,
} from './schema.ts'
export {
  type Definitions,
  type NameClaim,
  SOURCE_KINDS,
  type Source,
  type SourceKind,
  type SourceUnit,
} from './source.ts'
export type {
  AnyTool,
  AskOptions,
  CallContext,
  Forwarded,
  ForwardingDefinition,
  HandlerOutput,
  ToolDefinition,
} from './tool.ts'
export type { WrittenLines, WrittenUnit } from './written.ts'
