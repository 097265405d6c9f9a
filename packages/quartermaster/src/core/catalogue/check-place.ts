import type { Settings } from '../../contracts/index.ts'
import type { Digest } from '../kernel/index.ts'
import type { Capability } from './capability.ts'
import type { EffectChecker, EffectDefinition } from './effect.ts'
import type { Origin } from './generation.ts'
import type { ProblemList } from './problem-list.ts'
import type { SchemaCompiler } from './schema.ts'
import type { SourceKind } from './source.ts'

/** What checking definitions needs to know. */
export interface CheckDeps {
  readonly compiler: SchemaCompiler
  readonly digest: Digest
  readonly settings: Pick<Settings, 'callTimeoutSeconds' | 'maxResultBytes'>
  /** Effect kinds that something here can verify, by name. */
  readonly effectKinds: ReadonlyMap<string, EffectChecker>
  /** The same for a kind that a capability brings. */
  readonly ownEffectKind: (definition: EffectDefinition) => EffectChecker
}

/** What the definitions being checked belong to. */
export type Bundle = Pick<Capability, 'key' | 'requires' | 'effectKinds'>

/** The unit whose definitions are being checked. */
export interface UnitPlace {
  /** What someone else wrote is read more leniently. */
  readonly kind: SourceKind
  readonly origin: Origin
  readonly unitHash: string
  /** As in `SourceUnit`. */
  readonly sources?: string | undefined
  readonly problems: ProblemList
  readonly deps: CheckDeps
  /** Since when an upstream has its addresses, where it has any. */
  readonly claimed?: ReadonlyMap<string, number>
}
