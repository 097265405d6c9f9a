import type { EffectVerdict, OperationRow, ToolResult } from '../../../contracts/index.ts'
import { messageOf } from '../../../contracts/index.ts'
import type { Catalogue } from '../../catalogue/index.ts'
import type { CancelSignal, Clock, Log } from '../../kernel/index.ts'
import { kindsFor } from '../effects/custom-kind.ts'
import { type EffectKinds, verifyEffects } from '../effects/verify-effects.ts'
import { doneBefore } from './done-before.ts'
import { mayBeDone } from './in-doubt.ts'
import { openEffects } from './kept-effects.ts'
import type { StorageAccess } from './storage.ts'

/** Looks at what an operation was to leave behind, without running it: that takes no permission, and mostly no tool. */
export interface LastLook {
  /** What is there of it; nothing where nothing is kept to look for. Throws when what is kept cannot be opened. */
  at(row: OperationRow, options?: { readonly signal?: CancelSignal | undefined }): Promise<EffectVerdict | undefined>
  /** The result of one that is about to be given up, where an earlier run turns out to have done all of it. Never throws. */
  resultOf(row: OperationRow): Promise<ToolResult | undefined>
}

export interface LastLookDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly effectKinds: EffectKinds
}

export function createLastLook({ storage, clock, log, catalogue, effectKinds }: LastLookDeps): LastLook {
  /** What one's own capability brought can only be looked for while its tool is there; everything else always. */
  function kindsOf({ tool: name }: OperationRow): EffectKinds {
    const tool = catalogue.current().tools.get(name)
    return tool ? kindsFor(effectKinds, tool) : effectKinds
  }

  async function at(row: OperationRow, { signal }: { readonly signal?: CancelSignal | undefined } = {}) {
    const { sealer } = await storage.open()
    const kept = openEffects(row, sealer)
    return kept.length === 0 ? undefined : await verifyEffects(kept, kindsOf(row), { clock, signal })
  }

  return {
    at,
    async resultOf(row) {
      if (!mayBeDone(row)) return undefined
      try {
        const found = await at(row)
        if (found?.verdict !== 'verified') return undefined
        return doneBefore({ name: row.tool, effects: found.effects }, row.id).result
      } catch (error) {
        // Then nobody knows, and it ends as one of which nobody does.
        log.warn('what an operation was to leave behind could not be looked at', {
          id: row.id,
          error: messageOf(error),
        })
        return undefined
      }
    },
  }
}
