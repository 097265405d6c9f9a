import { AppError, type Caller, type Settings } from '../../../contracts/index.ts'
import { callerKey } from '../../kernel/index.ts'
import type { StorageAccess } from '../record/storage.ts'

/** Sees to it that nobody has more calls waiting for persons than persons can look through. */
export interface WaitingRoom {
  /** Lets one more in, for as long as the work takes that puts it on record. Throws `LIMIT_EXCEEDED`. */
  enter<T>(caller: Caller, work: () => Promise<T>): Promise<T>
}

export interface WaitingRoomDeps {
  readonly storage: StorageAccess
  readonly settings: Pick<Settings, 'approvalsPerAgent'>
}

export function createWaitingRoom({ storage, settings }: WaitingRoomDeps): WaitingRoom {
  const most = settings.approvalsPerAgent
  /** By caller, how many are at the door: those that come together would all find the same number on record. */
  const entering = new Map<string, number>()

  function step(who: string, by: 1 | -1): number {
    const now = (entering.get(who) ?? 0) + by
    if (now === 0) entering.delete(who)
    else entering.set(who, now)
    return now
  }

  async function refuseFull({ organisation, workspace, name }: Caller, together: number): Promise<void> {
    const { store } = await storage.open()
    const inside = await store.count('approvals', { organisation, state: 'open', workspace })
    if (inside + together <= most) return
    const next = 'Wait until a person has answered some with `quartermaster approvals`, or cancel what is not needed.'
    throw new AppError('LIMIT_EXCEEDED', `"${name}" has ${inside} calls that wait for a person; ${most} may. ${next}`)
  }

  return {
    async enter(caller, work) {
      const who = callerKey(caller)
      const together = step(who, 1)
      try {
        await refuseFull(caller, together)
        return await work()
      } finally {
        step(who, -1)
      }
    },
  }
}
