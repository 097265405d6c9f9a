import { messageOf } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { PinBook, UpstreamMemory } from '../../core/upstreams/index.ts'
import type { MountOptions } from './mounted.ts'
import type { UpstreamAuth } from './oauth/upstream-auth.ts'
import type { Upstream } from './upstream.ts'

/** What upstreams take, once there are any. */
export interface UpstreamParts {
  readonly pins: Pick<PinBook, 'list' | 'decide' | 'namesOf' | 'amounts' | 'forget'>
  readonly memory: Pick<UpstreamMemory, 'names' | 'forget'>
  readonly auth: Pick<UpstreamAuth, 'amounts' | 'forgetAll'>
  create(options: MountOptions): Upstream
  /** Clears the way, before the first of them starts: what was left behind may hold what it needs. */
  prepare?(): Promise<void>
  close(): Promise<void>
}

/** The parts of upstreams, made when the first one needs them and not before. */
export interface LateParts {
  /** The same ones every time. Where they could not be made, the next one who needs them tries again. */
  get(): Promise<UpstreamParts>
  /** Closes what was made. */
  close(): Promise<void>
}

export interface LatePartsDeps {
  readonly log: Log
  parts(): Promise<UpstreamParts>
}

export function createLateParts({ log, parts }: LatePartsDeps): LateParts {
  let making: Promise<UpstreamParts> | undefined

  /** Where it fails it is forgotten at once, before anybody who waited for it can ask again. */
  function begin(): Promise<UpstreamParts> {
    const begun = make()
    begun.catch(() => {
      making = undefined
    })
    return begun
  }

  async function make(): Promise<UpstreamParts> {
    const made = await parts()
    await made.prepare?.().catch(error => log.warn('the way could not be cleared', { error: messageOf(error) }))
    return made
  }

  return {
    get() {
      making ??= begin()
      return making
    },
    async close() {
      await making?.then(made => made.close()).catch(() => {})
    },
  }
}
