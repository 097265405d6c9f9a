import { setTimeout as wait } from 'node:timers/promises'
import { type AppError, isAppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { DatabaseAddress } from './database-address.ts'
import { explain, isMisconfigured, toFault, unreachable, unusable } from './errors.ts'
import { type Link, openLink } from './link.ts'
import { greet, requireFit, type ServerFacts } from './server-check.ts'

/** A connection to a server that is fit. */
export interface Connected {
  readonly link: Link
  readonly facts: ServerFacts
}

interface ConnectorOptions {
  readonly address: DatabaseAddress
  readonly log: Log
}

interface ConnectOptions {
  /** What is to be done with a connection before it is used; what it throws counts as not having connected. */
  prepare(connected: Connected): Promise<void>
  /** Asked after each failure: whether the connection is still wanted. */
  mayGoOn(error: AppError): boolean
  /** A server that has been fit before is waited for whatever it says; one that never was may be the wrong one. */
  readonly isFirst: boolean
}

/** Connects, again and again with growing pauses while it is wanted. Throws the last error. */
export type Connect = (options: ConnectOptions) => Promise<Connected>

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

export function createConnector({ address, log }: ConnectorOptions): Connect {
  let toldOf: string | undefined

  function tell(error: AppError): void {
    // A server that goes away says so in several ways, one after the other.
    if (toldOf === error.code) return
    toldOf = error.code
    log.warn('The store does not answer; trying again', { reason: error.message })
  }

  async function connectOnce(prepare: ConnectOptions['prepare']): Promise<Connected> {
    const link = await openLink(address)
    try {
      const facts = await greet(link)
      if (facts.isStandby) throw unreachable(address.text, { message: '', code: '25006' })
      requireFit(facts, address)
      await prepare({ link, facts })
      return { link, facts }
    } catch (error) {
      await link.close()
      throw error
    }
  }

  return async ({ prepare, mayGoOn, isFirst }) => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const connected = await connectOnce(prepare)
        if (toldOf !== undefined) log.info('The store answers again')
        toldOf = undefined
        return connected
      } catch (cause) {
        const error = toError(address, cause)
        if ((isFirst && error.code === 'CONFIG_INVALID') || !mayGoOn(error)) throw error
        tell(error)
        // Several that lost the same server do not come back at the same moment.
        await wait(pause * (0.5 + Math.random() / 2))
      }
    }
  }
}

function toError(address: DatabaseAddress, cause: unknown): AppError {
  if (isAppError(cause)) return cause
  const fault = toFault(firstOf(cause))
  return isMisconfigured(fault) ? unusable(address, explain(fault)) : unreachable(address.text, fault)
}

/** A host with several addresses has one error for each, and no message of its own. */
function firstOf(cause: unknown): unknown {
  return cause instanceof AggregateError ? cause.errors[0] : cause
}
