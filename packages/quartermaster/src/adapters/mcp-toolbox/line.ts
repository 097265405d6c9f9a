import type { Client } from '@modelcontextprotocol/client'
import type { AppError } from '../../contracts/index.ts'
import type { Cancel, Clock, Random } from '../../core/kernel/index.ts'
import { keepListening } from './keep-listening.ts'
import type { ToolList } from './tool-list.ts'
import { type Errand, toolboxError } from './toolbox-error.ts'

/** The way to an `up` and back. It brings changes for as long as the token is taken. */
export interface Line {
  /** Does it, and throws what went wrong on the way in our words. */
  reached<T>(work: () => Promise<T>, errand?: Partial<Errand>): Promise<T>
  stop(): void
}

/** What following changes takes. */
export interface Following {
  readonly clock: Clock
  readonly random: Random
}

export interface LineDeps {
  readonly client: Client
  readonly address: URL
  /** Nobody hears of changes where absent. */
  readonly following: Following | undefined
  readonly list: Pick<ToolList, 'changed' | 'lookAgain'>
}

export function createLine({ client, address, following, list }: LineDeps): Line {
  let isStopped = false
  let isRefused = false
  let stopListening: Cancel = () => {}
  client.setNotificationHandler('notifications/tools/list_changed', list.changed)
  listen()

  function listen(): void {
    if (following && !isStopped)
      stopListening = keepListening(client, { ...following, onOpen, isFinal: error => isTokenRefused(toError(error)) })
  }

  function onOpen({ isFirst }: { readonly isFirst: boolean }): void {
    if (!isFirst) return list.changed()
    // What was listed while the first stream was being opened may be old already. Where that fails, whoever asks next is told why.
    list.lookAgain().catch(() => {})
  }

  /** Whose token is taken no more has no tools, whatever was listed before, and hears of none. */
  function isTokenRefused({ code }: AppError): boolean {
    if (code !== 'TOKEN_INVALID') return false
    if (!isRefused) {
      isRefused = true
      stopListening()
      list.changed()
    }
    return true
  }

  /** An agent that was away and is back has the same token. */
  function admitAgain(): void {
    isRefused = false
    listen()
  }

  function toError(thrown: unknown, errand: Partial<Errand> = {}): AppError {
    return toolboxError(thrown, { url: address, isCall: false, ...errand })
  }

  return {
    async reached(work, errand) {
      try {
        const done = await work()
        if (isRefused) admitAgain()
        return done
      } catch (thrown) {
        const error = toError(thrown, errand)
        isTokenRefused(error)
        throw error
      }
    },
    stop() {
      isStopped = true
      stopListening()
    },
  }
}
