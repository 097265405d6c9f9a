import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import type { Control, Progress } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { STATUS_REPORT } from '../../testing/fake-control.ts'
import { createControlClient } from './index.ts'

let server: Server | TcpServer | undefined

/** What is only held weakly is held until the turn of the event loop is over. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  await setImmediate()
}

afterEach(async () => {
  if (server && 'closeAllConnections' in server) server.closeAllConnections()
  await new Promise(resolve => (server ? server.close(resolve) : resolve(undefined)))
  server = undefined
})

async function clientOf(listening: Server | TcpServer): Promise<Control & { readonly url: string }> {
  server = listening
  await new Promise<void>(resolve => listening.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
  return { ...createControlClient({ url, token: 'secret' }), url }
}

const serving = (handler: RequestListener) => clientOf(createServer(handler))

/** A server whose every answer is this text, as a stream of lines. */
const saying = (text: string) =>
  serving((_request, response) => response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end(text))

const CALL = { agent: 'a', tool: 't', input: {} }
const line = (value: unknown) => `${JSON.stringify(value)}\n`

describe('a control client', () => {
  it('posts the input with the token and hands on what comes', async () => {
    const requests: unknown[] = []
    const client = await serving((request, response) => {
      const { method, url, headers } = request
      let body = ''
      request.on('data', part => void (body += part))
      request.on('end', () => {
        requests.push({ method, url, body, authorization: headers.authorization, accept: headers.accept })
        response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
        response.end(
          line({ heartbeat: true }) +
            line({ progress: { progress: 1 } }) +
            line({ result: { active: true, missing: [], probed: [] } }),
        )
      })
    })
    const seen: Progress[] = []
    const answer = await client.recheck({ name: 'mail' }, { onProgress: progress => void seen.push(progress) })
    expect(answer).toEqual({ active: true, missing: [], probed: [] })
    expect(seen).toEqual([{ progress: 1 }])
    expect(requests).toEqual([
      {
        method: 'POST',
        url: '/api/v1/control/recheck',
        body: '{"name":"mail"}',
        authorization: 'Bearer secret',
        accept: 'application/x-ndjson',
      },
    ])
  })

  it('puts lines together wherever the network cut them', async () => {
    const bytes = Buffer.from(line({ progress: { progress: 1, message: 'äöü€' } }) + line({ result: STATUS_REPORT }))
    const client = await serving((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
      for (const byte of bytes) response.write(Buffer.from([byte]))
      response.end()
    })
    const messages: (string | undefined)[] = []
    expect(await client.status({}, { onProgress: progress => void messages.push(progress.message) })).toEqual(
      STATUS_REPORT,
    )
    expect(messages).toEqual(['äöü€'])
  })

  it('does not mind fields it does not know, however strict the schema', async () => {
    const check = { name: 'a', ok: true, report: [], problems: [], future: 1 }
    const agent = {
      capabilities: { files: { dirs: ['.'] } },
      consent: { allow: [], future: 1 },
      future: { deep: true },
    }
    const client = await saying(line({ result: { file: 'agents/a.json', agent, check, future: [] } }))
    expect(await client.grant({ agent: 'a', capability: 'files' })).toEqual({
      file: 'agents/a.json',
      agent: { capabilities: { files: { dirs: ['.'] } }, consent: { allow: [] } },
      check: { name: 'a', ok: true, report: [], problems: [] },
    })
  })

  it('refuses an answer of another shape', async () => {
    const client = await saying(line({ result: { version: 1 } }))
    await expect(client.status({})).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      message: expect.stringContaining(client.url),
    })
  })

  it('throws the error that was sent in the stream', async () => {
    const error = {
      code: 'TOOL_DISABLED',
      kind: 'unavailable',
      retry: 'later',
      message: 'Down.',
      details: { tool: 't' },
    }
    const client = await saying(line({ error }))
    await expect(client.call(CALL)).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: 'Down.',
      details: { tool: 't' },
    })
  })

  it('throws the error that was sent instead of a stream', async () => {
    const problem = {
      type: 'x',
      title: 'x',
      status: 401,
      code: 'TOKEN_INVALID',
      kind: 'unauthenticated',
      retry: 'never',
      detail: 'Wrong token.',
    }
    const client = await serving((_request, response) =>
      response.writeHead(401, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem)),
    )
    await expect(client.status({})).rejects.toMatchObject({ code: 'TOKEN_INVALID', message: 'Wrong token.' })
  })

  it('says so when the input cannot be written as JSON, and sends nothing', async () => {
    const client = await serving(() => expect.unreachable())
    await expect(client.call({ ...CALL, input: 1n })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('never takes its token elsewhere', async () => {
    const client = await serving((request, response) => {
      expect(request.url).not.toBe('/elsewhere')
      response.writeHead(307, { Location: '/elsewhere' }).end()
    })
    await expect(client.status({})).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
  })
})

describe('when the "up" is gone', () => {
  it('says so and names the next step, and a call that was never sent is not uncertain', async () => {
    const client = await serving(() => {})
    await new Promise(resolve => server?.close(resolve))
    server = undefined
    for (const attempt of [client.status({}), client.call(CALL)]) {
      await expect(attempt).rejects.toMatchObject({
        code: 'DEPENDENCY_UNAVAILABLE',
        message: `The "up" at ${client.url} does not answer any more. Start it again with "quartermaster up", then repeat the command.`,
      })
    }
  })

  it.each([
    { when: 'before it answered', sent: '' },
    {
      when: 'after the headers',
      sent: 'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n',
    },
    {
      when: 'in the middle of a line',
      sent: 'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n{"result":{',
    },
    {
      when: 'before the end of the last line',
      sent: 'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n{"result":{}}',
    },
  ])('a call that was cut $when has an unknown outcome; a question can be asked again', async ({ sent }) => {
    const client = await clientOf(createTcpServer(socket => socket.once('data', () => socket.end(sent))))
    await expect(client.call(CALL)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', retry: 'verifyFirst' })
    await expect(client.status({})).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
  })

  it.each([
    { what: 'a web page', status: 200, type: 'text/html', body: '<h1>Hello</h1>' },
    { what: 'JSON of its own', status: 404, type: 'application/json', body: '{"error":"nope"}' },
    { what: 'nothing', status: 204, type: 'text/plain', body: '' },
  ])('and another program answers with $what, it says so', async ({ status, type, body }) => {
    const client = await serving((_request, response) => response.writeHead(status, { 'Content-Type': type }).end(body))
    await expect(client.status({})).rejects.toMatchObject({
      code: 'DEPENDENCY_UNAVAILABLE',
      message: expect.stringContaining('another program answers there'),
    })
  })

  it('garbage in the stream counts as cut', async () => {
    const client = await saying('{"progress":{"progress":1}}\nnot json\n')
    await expect(client.call(CALL)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })
})

describe('a caller that cancels', () => {
  it('gets CANCELLED at once when it had cancelled before', async () => {
    const client = await serving(() => expect.unreachable())
    await expect(client.status({}, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it.each(['before the headers', 'in the stream', 'in the stream, long after it began'])(
    'ends the request %s and gets CANCELLED',
    async moment => {
      const arrived = deferred()
      const closed = deferred()
      const client = await serving((_request, response) => {
        response.on('close', () => closed.resolve())
        if (moment.startsWith('in the stream'))
          response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).write(line({ progress: { progress: 1 } }))
        else arrived.resolve()
      })
      const cancel = new AbortController()
      const call = client.call(CALL, { signal: cancel.signal, onProgress: () => arrived.resolve() })
      const ended = call.catch((error: unknown) => error)
      await arrived.promise
      // By then everything was collected that nobody holds.
      if (moment.endsWith('began')) for (let i = 0; i < 5; i++) await collectGarbage()
      cancel.abort()
      expect(await ended).toMatchObject({ code: 'CANCELLED', message: '"call" was cancelled.' })
      await closed.promise
    },
  )
})

it('gives up on a line without end instead of filling the memory', async () => {
  const closed = deferred()
  const client = await serving((_request, response) => {
    response.on('close', () => closed.resolve())
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    const chunk = Buffer.alloc(1024 * 1024, 0x20)
    const pour = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', pour)
    pour()
  })
  await expect(client.status({})).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    details: { limit: 64 * 1024 * 1024 },
  })
  await closed.promise
})
