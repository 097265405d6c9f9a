import type { InjectionMode, ResolverContext } from '../../contracts/index.ts'
import { brand } from './brand.ts'
import type { AnyTool } from './tool.ts'

/**
 * Tools that come along by the way a run was started, or with the gateway view; never listed in an agent's file, never
 * switched there. In the gateway view, and beside an agent's tools, their handlers' configuration is a `GatewayConfig`.
 */
export interface Injection {
  readonly key: string
  readonly short: string
  /** What brings it along. */
  readonly modes: readonly InjectionMode[]
  readonly tools: readonly AnyTool[]
  /** The handlers' configuration for this run, or `null` to leave it out. */
  resolve?(context: ResolverContext): { config?: unknown } | null
}

/** Defines tools that come with a kind of run. */
export function defineInjection(definition: Injection): Injection {
  return brand('injection', { ...definition })
}
