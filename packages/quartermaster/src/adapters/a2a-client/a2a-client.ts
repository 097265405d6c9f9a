import { messageOf } from '../../contracts/index.ts'
import {
  type CardPlace,
  type RemoteAgents,
  type RemoteEvent,
  RemoteFailure,
  type RemotePlace,
} from '../../core/external-peers/index.ts'
import type { CancelSignal } from '../../core/kernel/index.ts'
import { createEventParser, type HttpAnswer, headerOf, isGood, readText } from '../http-client/index.ts'
import { createExchange, type ExchangeOptions, httpFailure, parseCard, saidFailure } from './exchange.ts'
import {
  BINDINGS,
  createEventQueue,
  type Given,
  type Operation,
  parseAnswer,
  parseEvent,
  parseTask,
  unreadable,
} from './wire.ts'

export interface A2aClient extends RemoteAgents {
  close(): void
}

export const A2A_CLIENT_LIMITS = {
  cardBytes: 256 * 1_024,
  cardMs: 15_000,
  /** A result of 16 MiB, or a file of 25 MB as text, with what is around it. */
  answerBytes: 40 * 1_024 * 1_024,
  /** What is asked about a task is answered from memory. */
  askedMs: 30_000,
  /** Some answer a message only when all is done, although they are asked not to. */
  saidMs: 600_000,
  /** A stream that was silent for so long may have no writer any more. */
  silenceMs: 90_000,
}

/** Speaks A2A 1.0 with agents elsewhere, in both bindings over HTTP. */
export function createA2aClient(options: ExchangeOptions): A2aClient {
  const { clock } = options
  const exchange = createExchange(options)

  /** All of an answer, within a time. */
  async function whole(place: CardPlace, asked: Omit<Parameters<typeof exchange.ask>[1], 'accept'>, bytes: number) {
    const answer = await exchange.ask(place, { ...asked, accept: 'application/json, application/a2a+json' })
    let cancel = () => {}
    try {
      const late = new Promise<never>((_, reject) => {
        cancel = clock.after(asked.answerMs, () => {
          answer.body.destroy()
          reject(new RemoteFailure('unreachable', `It has not answered within ${asked.answerMs} ms.`))
        })
      })
      return { answer, text: await Promise.race([readText(answer.body, bytes), late]) }
    } catch (error) {
      throw error instanceof RemoteFailure ? error : cutOff(error)
    } finally {
      cancel()
    }
  }

  async function call(place: RemotePlace, operation: Operation, given: Given, signal: CancelSignal): Promise<unknown> {
    const binding = BINDINGS[place.binding]
    const answerMs = operation === 'SendMessage' ? A2A_CLIENT_LIMITS.saidMs : A2A_CLIENT_LIMITS.askedMs
    const { answer, text } = await whole(
      place,
      { ...binding.write(place, operation, given), signal, answerMs },
      A2A_CLIENT_LIMITS.answerBytes,
    )
    return resultOf(binding, answer, text)
  }

  async function* events(
    place: RemotePlace,
    operation: Operation,
    given: Given,
    signal: CancelSignal,
  ): AsyncGenerator<RemoteEvent> {
    const binding = BINDINGS[place.binding]
    const written = binding.write(place, operation, given)
    const answer = await exchange.ask(place, {
      ...written,
      signal,
      accept: 'text/event-stream',
      answerMs: A2A_CLIENT_LIMITS.askedMs,
    })
    if (!isGood(answer) || !/^text\/event-stream\b/i.test(headerOf(answer, 'content-type') ?? '')) {
      const text = await readText(answer.body, A2A_CLIENT_LIMITS.cardBytes).catch(error =>
        Promise.reject(cutOff(error)),
      )
      // Errors of JSON-RPC come with a good status. A server that answers with a task does not stream, whatever its card says.
      resultOf(binding, answer, text)
      throw new RemoteFailure('unsupported', 'It does not answer with a stream.')
    }
    for await (const data of dataOf(answer)) {
      const told = binding.read(data)
      if ('error' in told) throw saidFailure(told.error)
      const event = parseEvent(told.result)
      if (event) yield event
    }
  }

  /** What the events of a stream hold, until it ends or has been silent for long. */
  async function* dataOf({ body }: HttpAnswer): AsyncGenerator<unknown> {
    const queue = createEventQueue<string>()
    const parse = createEventParser({
      maxBytes: A2A_CLIENT_LIMITS.answerBytes,
      onEvent: ({ data }) => void (data !== '' && queue.put(data)),
      onRetry: () => {},
    })
    let cancel = () => {}
    const listen = () => {
      cancel()
      // It is opened again, after a look at how the task is.
      cancel = clock.after(A2A_CLIENT_LIMITS.silenceMs, () => queue.end())
    }
    listen()
    body.read({
      onData(chunk) {
        listen()
        try {
          parse(chunk)
        } catch (error) {
          queue.end(cutOff(error))
        }
      },
      onEnd: () => queue.end(),
      onFail: cause => queue.end(cutOff(cause)),
    })
    try {
      for await (const text of queue) yield parseJson(text)
    } finally {
      cancel()
      body.destroy()
    }
  }

  return {
    async card(place, signal) {
      const asked = { method: 'GET', url: new URL(place.cardUrl), signal, answerMs: A2A_CLIENT_LIMITS.cardMs } as const
      const { answer, text } = await whole(place, asked, A2A_CLIENT_LIMITS.cardBytes)
      if (answer.status === 404) throw new RemoteFailure('unfit', 'There is no card at this address (HTTP 404).')
      if (!isGood(answer)) throw httpFailure(answer, undefined)
      return parseCard(cardJson(text), place)
    },
    send: async (place, message, signal) => parseAnswer(await call(place, 'SendMessage', { message }, signal)),
    stream: (place, message, signal) => events(place, 'SendStreamingMessage', { message }, signal),
    get: async (place, id, signal) => parseTask(await call(place, 'GetTask', { id }, signal)),
    subscribe: (place, id, signal) => events(place, 'SubscribeToTask', { id }, signal),
    async cancel(place, id, signal) {
      await call(place, 'CancelTask', { id }, signal)
    },
    close: exchange.close,
  }
}

function resultOf(binding: (typeof BINDINGS)[keyof typeof BINDINGS], answer: HttpAnswer, text: string): unknown {
  if (!isGood(answer)) throw httpFailure(answer, binding.readError(safeJson(text)))
  const read = binding.read(parseJson(text))
  if ('error' in read) throw saidFailure(read.error)
  return read.result
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw unreadable('no JSON', error)
  }
}

function cardJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RemoteFailure('unfit', 'What is there is no JSON, and so no card.', { cause: error })
  }
}

/** What is behind an error may be a page of a proxy. */
function safeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function cutOff(error: unknown): RemoteFailure {
  return new RemoteFailure('unreachable', `Its answer broke off: ${messageOf(error)}.`, { cause: error })
}
