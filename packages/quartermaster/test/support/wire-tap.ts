import type { FetchLike } from '@modelcontextprotocol/client'
import { membersOf } from './json-slices.ts'

/** Keeps what goes over a wire as it is spelled there. */
export interface WireTap {
  /** Takes one message of the client. */
  note(message: unknown): void
  /** Takes one message of the server. */
  hear(text: string): void
  /** The result that the newest request of this method was answered with. */
  resultOf(method: string): string
}

export function createWireTap(): WireTap {
  const asked: { readonly id: unknown; readonly method: unknown }[] = []
  const answers: { readonly id: unknown; readonly text: string }[] = []
  return {
    note(message) {
      const { id, method } = message as Record<string, unknown>
      if (id !== undefined && method !== undefined) asked.push({ id, method })
    },
    hear(text) {
      const { id, method } = JSON.parse(text)
      if (method === undefined) answers.push({ id, text })
    },
    resultOf(method) {
      const request = asked.findLast(one => one.method === method)
      const [answer, ...more] = answers.filter(({ id }) => id === request?.id)
      const result = answer && membersOf(answer.text).get('result')
      if (!request || result === undefined || more.length > 0)
        throw new Error(`${method} has not one result: ${JSON.stringify(answer)}, ${more.length} more`)
      return result
    },
  }
}

/** A recording `fetch`: what is sent, and what is answered before the caller reads it. */
export function tappedFetch(tap: WireTap): FetchLike {
  return async (url, init) => {
    if (typeof init?.body === 'string') tap.note(JSON.parse(init.body))
    const response = await fetch(url, init)
    const { body, headers } = response
    if (!body) return response
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    return new Response(body.pipeThrough(listening(tap, isStream)), response)
  }
}

function listening(tap: WireTap, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  let text = ''
  const hearEvents = () => {
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = /^data: ?(\S.*)$/m.exec(event)?.[1]
      if (data !== undefined) tap.hear(data)
    }
  }
  return new TransformStream({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true })
      if (isStream) hearEvents()
      controller.enqueue(chunk)
    },
    flush() {
      if (!isStream && text !== '') tap.hear(text)
    },
  })
}
