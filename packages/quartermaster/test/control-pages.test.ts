import { afterEach, describe, expect, it } from 'vitest'
import { createControlClient } from '../src/adapters/control-client/index.ts'
import type { Answer, Control, ControlOptions, UrlQuestion } from '../src/contracts/index.ts'
import { deferred } from '../src/testing/deferred.ts'
import { fakeControl } from '../src/testing/fake-control.ts'
import { ADMIN_TOKEN, startHttpServer, type TestServer } from '../src/testing/http-server.ts'

let server: TestServer | undefined

afterEach(async () => {
  await server?.close(0)
  server = undefined
})

const CALL = { agent: 'coder', tool: 'login', input: {} }
const QUESTION: UrlQuestion = { kind: 'url', message: 'Sign in.', url: 'https://example.com/in' }

/** A call that asks for a page and answers what came back; the far side of a real connection to it. */
async function remoteLogin(): Promise<Control> {
  const call: Control['call'] = async (_input, { openPage } = {}) => {
    const answer: Answer | undefined = await openPage?.(QUESTION)
    return { operationId: 'op1', result: { content: [{ type: 'text', text: answer?.action ?? 'nobody' }] } }
  }
  server = await startHttpServer({ control: fakeControl({ call }) })
  return createControlClient({ url: server.url, token: ADMIN_TOKEN })
}

async function textOf(options: ControlOptions): Promise<unknown> {
  const { result } = await (await remoteLogin()).call(CALL, options)
  return result.content[0]?.text
}

describe('a page that a call asks for, over the wire', () => {
  it('is opened by the caller, and the call continues with the answer', async () => {
    const seen: UrlQuestion[] = []
    const openPage = async (question: UrlQuestion): Promise<Answer> => {
      seen.push(question)
      return { action: 'accept' }
    }
    expect(await textOf({ openPage })).toBe('accept')
    expect(seen).toEqual([QUESTION])
  })

  it('counts as cancelled when the asked client fails', async () => {
    expect(await textOf({ openPage: () => Promise.reject(new Error('no')) })).toBe('cancel')
  })

  it('is withdrawn from the caller when the call does not need it any more, and the call continues', async () => {
    const doubt = new AbortController()
    const call: Control['call'] = async (_input, { openPage } = {}) => {
      const ended = await openPage?.(QUESTION, doubt.signal).catch((error: Error) => error.message)
      return { operationId: 'op1', result: { content: [{ type: 'text', text: `${ended}` }] } }
    }
    server = await startHttpServer({ control: fakeControl({ call }) })
    const control = createControlClient({ url: server.url, token: ADMIN_TOKEN })
    const takenBack = deferred()
    const openPage = (_question: UrlQuestion, signal?: AbortSignal) => {
      signal?.addEventListener('abort', () => takenBack.resolve())
      doubt.abort(new Error('never mind'))
      return new Promise<Answer>(() => {})
    }
    const { result } = await control.call(CALL, { openPage })
    expect(result.content[0]?.text).toBe('never mind')
    await takenBack.promise
  })

  it('is not asked for where the client cannot open one', async () => {
    expect(await textOf({})).toBe('nobody')
  })

  it('refuses an answer that no call waits for, and one without the token', async () => {
    await remoteLogin()
    const post = (token: string) =>
      fetch(new URL('/api/v1/control/call/answer', server?.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ id: 'made-up', answer: { action: 'accept' } }),
      })
    expect((await post(ADMIN_TOKEN)).status).toBe(404)
    expect((await post('another')).status).toBe(401)
  })
})
