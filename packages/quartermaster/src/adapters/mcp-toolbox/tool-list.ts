import type { ToolboxTool } from '../../contracts/index.ts'
import { createListeners, type Listeners } from '../../core/kernel/index.ts'

/** What an agent elsewhere has, as it was last told, and whoever wants to hear that it is something else. */
export interface ToolList {
  /** The same array until something has changed. */
  current(): Promise<readonly ToolboxTool[]>
  /** What was told does not hold any more, or may not. */
  changed(): void
  /** Asks once more for what was asked for already. It counts as changed only if it is. */
  lookAgain(): Promise<void>
  readonly listeners: Listeners
}

export function createToolList(fetch: () => Promise<readonly ToolboxTool[]>): ToolList {
  const listeners = createListeners({ onError: warn })
  let known: Promise<readonly ToolboxTool[]> | undefined

  function changed(): void {
    known = undefined
    listeners.tell()
  }

  return {
    current() {
      known ??= fetch().catch(error => {
        known = undefined
        throw error
      })
      return known
    },
    changed,
    async lookAgain() {
      const told = known
      if (!told) return
      const [before, now] = await Promise.all([told, fetch()])
      if (known === told && JSON.stringify(before) !== JSON.stringify(now)) changed()
    },
    listeners,
  }
}

/** There is nobody else to tell it: the listener is code of whoever opened the toolbox. */
function warn(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning(`A listener to changes of a toolbox has thrown. ${text}`, 'QuartermasterWarning')
}
