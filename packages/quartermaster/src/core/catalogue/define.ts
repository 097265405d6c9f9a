import { type JsonSchema, type ResolvedConfig, type ResolverContext, type ToolResult } from '../../contracts/index.ts'
import { brand } from './brand.ts'
import {
  type Capability,
  type CapabilityDefinition,
  type DependencyDefinition,
  type EffectDefinition,
} from './definitions.ts'
import {
  type AnyPrompt,
  type AnyResource,
  type PromptArgumentDefinition,
  type PromptDefinition,
  type ResourceDefinition,
} from './mcp-definitions.ts'
import { describeSchema, type SchemaLike } from './schema.ts'
import { type AnyTool, type CallContext, type ForwardingDefinition, type ToolDefinition } from './tool.ts'

// Nothing here throws: definitions are validated on load, where all problems are reported at once.

/** Defines a tool. The types of input, output and configuration follow from the schemas. */
export function defineTool<
  const I extends SchemaLike,
  const O extends SchemaLike | undefined = undefined,
  Config = unknown,
>(definition: ToolDefinition<I, O, Config>): ToolDefinition<I, O, Config> & AnyTool & { readonly title: string } {
  return brand('tool', titled(definition)) as never
}

/** Defines a prompt: a text with arguments. What `render` gets follows from the arguments. */
export function definePrompt<const A extends readonly PromptArgumentDefinition<Config>[], Config = unknown>(
  definition: PromptDefinition<A, Config>,
): PromptDefinition<A, Config> & AnyPrompt & { readonly title: string } {
  return brand('prompt', titled(definition)) as never
}

/** Defines a resource: something to read at one URI, or at all URIs of a template. */
export function defineResource<const T extends string = never, Config = unknown>(
  definition: ResourceDefinition<T, Config>,
): ResourceDefinition<T, Config> & AnyResource & { readonly title: string } {
  return brand('resource', titled(definition)) as never
}

/** Defines a tool that redirects its calls to other tools. */
export function defineForwardingTool<const I extends SchemaLike>(
  definition: ForwardingDefinition<I>,
): AnyTool & { readonly title: string } {
  return brand('tool', titled(definition)) as never
}

/** Defines something outside that tools need, and how to probe it. */
export function defineDependency(definition: DependencyDefinition): DependencyDefinition {
  return brand('dependency', { ...definition })
}

/** Defines a kind of effect: something that calls leave behind outside, and how to verify it. */
export function defineEffect(definition: EffectDefinition): EffectDefinition {
  return brand('effect', { ...definition })
}

/** Defines a bundle of tools, prompts and resources that an agent can be given. */
export function defineCapability<const C extends SchemaLike = SchemaLike>(
  definition: CapabilityDefinition<C>,
): Capability {
  const { resolve } = definition
  return brand('capability', {
    key: definition.key,
    title: definition.title ?? titleFrom(definition.key),
    short: definition.short,
    config: definition.config,
    tools: definition.tools as Capability['tools'],
    prompts: definition.prompts ?? [],
    resources: definition.resources ?? [],
    requires: definition.requires ?? [],
    dependencies: definition.dependencies ?? [],
    consentOperations: definition.consentOperations ?? [],
    effectKinds: definition.effectKinds ?? [],
    withheld: definition.withheld ?? [],
    gone: definition.gone ?? [],
    unwanted: definition.unwanted ?? [],
    unseen: definition.unseen,
    inward: definition.inward ?? false,
    get configSchema(): JsonSchema | undefined {
      return definition.config && describeSchema(definition.config, 'input')
    },
    resolve(context: ResolverContext, config: ResolvedConfig) {
      const { tools: _tools, ...own } = config
      return resolve ? resolve(context, config as never) : { config: own }
    },
  })
}

/** A full result, for when a text or value is not enough: several parts, images, links, `isError`. */
export function toolResult(result: ToolResult): ToolResult {
  return brand('result', { ...result })
}

/** "The tool ran and said no": a result that tells the agent why. */
export function toolFailure(text: string): ToolResult {
  return toolResult({ content: [{ type: 'text', text }], isError: true })
}

function titled(definition: { name: string; title?: string }): object {
  return { ...definition, title: definition.title ?? titleFrom(definition.name) }
}

export function titleFrom(name: unknown): string {
  const words = String(name).replace(/[_-]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const waitingReasons = new WeakMap<CallContext, string>()

/** Says that a handler has only waited so far, and for what: a call aborted now has done nothing, whatever its tool does. */
export function markWaiting(context: CallContext, why: string): void {
  waitingReasons.set(context, why)
}

/** The handler starts to act: from here on, an aborted call has an unknown outcome. */
export function markStarted(context: CallContext): void {
  waitingReasons.delete(context)
}

export function waitReason(context: CallContext): string | undefined {
  return waitingReasons.get(context)
}
