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
import { createExchange, type ExchangeOptions, httpFailure, parseCard, protocolFailure } from './exchange.ts'
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
  /** A result of 16 MiB or a file of 25 MB as text, with its envelope. */
  answerBytes: 40 * 1_024 * 1_024,
  /** Questions about a task are answered from memory. */
  askedMs: 30_000,
  /** Some agents answer a message only at the end of its task, although asked not to. */
  saidMs: 600_000,
  /** A stream that is silent for this long may be dead. */
  silenceMs: 90_000,
}

/** An A2A 1.0 client, for both bindings over HTTP. */
export function createA2aClient(options: ExchangeOptions): A2aClient {
  const { clock } = options
  const exchange = createExchange(options)

  /** Reads a whole answer, within a time limit. */
  async function request(
    place: CardPlace,
    options: Omit<Parameters<typeof exchange.ask>[1], 'accept'>,
    maxBytes: number,
  ) {
    const answer = await exchange.ask(place, { ...options, accept: 'application/json, application/a2a+json' })
    let cancel = () => {}
    try {
      const late = new Promise<never>((_, reject) => {
        cancel = clock.after(options.answerMs, () => {
          answer.body.destroy()
          reject(new RemoteFailure('unreachable', `It has not answered within ${options.answerMs} ms.`))
        })
      })
      return { answer, text: await Promise.race([readText(answer.body, maxBytes), late]) }
    } catch (error) {
      throw error instanceof RemoteFailure ? error : cutOff(error)
    } finally {
      cancel()
    }
  }

  async function call(place: RemotePlace, operation: Operation, given: Given, signal: CancelSignal): Promise<unknown> {
    const binding = BINDINGS[place.binding]
    const answerMs = operation === 'SendMessage' ? A2A_CLIENT_LIMITS.saidMs : A2A_CLIENT_LIMITS.askedMs
    const { answer, text } = await request(
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
      // JSON-RPC errors have a good status. A server that answers with a task does not stream, whatever its card says.
      resultOf(binding, answer, text)
      throw new RemoteFailure('unsupported', 'It does not answer with a stream.')
    }
    for await (const data of dataOf(answer)) {
      const message = binding.read(data)
      if ('error' in message) throw protocolFailure(message.error)
      const event = parseEvent(message.result)
      if (event) yield event
    }
  }

  /** The data of a stream's events, until it ends or is silent for too long. */
  async function* dataOf({ body }: HttpAnswer): AsyncGenerator<unknown> {
    const queue = createEventQueue<string>()
    const parse = createEventParser({
      maxBytes: A2A_CLIENT_LIMITS.answerBytes,
      onEvent: ({ data }) => void (data !== '' && queue.put(data)),
      onRetry: () => {},
    })
    let cancel = () => {}
    const restartTimer = () => {
      cancel()
      // The caller opens the stream again, after reading the task.
      cancel = clock.after(A2A_CLIENT_LIMITS.silenceMs, () => queue.end())
    }
    restartTimer()
    body.read({
      onData(chunk) {
        restartTimer()
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
      const options = {
        method: 'GET',
        url: new URL(place.cardUrl),
        signal,
        answerMs: A2A_CLIENT_LIMITS.cardMs,
      } as const
      const { answer, text } = await request(place, options, A2A_CLIENT_LIMITS.cardBytes)
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
  if ('error' in read) throw protocolFailure(read.error)
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
    throw new RemoteFailure('unfit', 'There is no agent card at this address: the answer is not JSON.', {
      cause: error,
    })
  }
}

/** An error page of a proxy is not JSON. */
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
