import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { AppError, type Control, type ControlOptions, type ErrorCode } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { fakeControl, STATUS_REPORT } from '../../testing/fake-control.ts'
import { ADMIN_TOKEN, startHttpServer, type TestServer, type TestServerOptions } from '../../testing/http-server.ts'

let server: TestServer | undefined

async function serving(operations: Partial<Control>, options: TestServerOptions = {}): Promise<TestServer> {
  server = await startHttpServer({ control: fakeControl(operations), ...options })
  return server
}

afterEach(async () => {
  await server?.close(0)
  server = undefined
})

const STREAM = { headers: { Accept: 'application/x-ndjson' } }
const ok: Partial<Control> = { status: async () => STATUS_REPORT }

describe('the admin token', () => {
  it.each(['', 'Bearer', 'Bearer wrong', `Basic ${ADMIN_TOKEN}`, `Bearer ${ADMIN_TOKEN} x`, ADMIN_TOKEN])(
    'is needed, "%s" is not enough',
    async value => {
      const { post } = await serving(ok)
      const response = await post('status', {}, { headers: { Authorization: value } })
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="quartermaster"'])
      expect(await response.json()).toMatchObject({ code: 'TOKEN_INVALID' })
    },
  )

  it('comes before everything else: nobody learns without it which operations there are', async () => {
    const { url } = await serving(ok)
    const ask = (path: string, method: string) =>
      fetch(`${url}/api/v1/control${path}`, { method }).then(response => response.status)
    expect(
      await Promise.all([ask('/status', 'POST'), ask('/nothing', 'POST'), ask('/status', 'GET'), ask('', 'POST')]),
    ).toEqual([401, 401, 401, 401])
  })
})

describe('an operation', () => {
  it('gets its checked input and answers JSON', async () => {
    const inputs: unknown[] = []
    const answer = { active: true, missing: [], probed: ['mail'] }
    const { post } = await serving({ recheck: async input => (inputs.push(input), answer) })
    const response = await post('recheck', { name: 'mail', force: true })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(await response.json()).toEqual(answer)
    expect(inputs).toEqual([{ name: 'mail', force: true }])
  })

  it('that does not exist is named, with the closest one', async () => {
    const response = await (await serving(ok)).post('stauts', {})
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({
      code: 'NAME_UNKNOWN',
      detail: 'No operation is named "stauts". Did you mean "status"?',
    })
  })

  it.each(['__proto__', 'constructor', 'toString', '%00', 'status%2f', 'a/b'])(
    'is never found by the trick %s',
    async name => {
      expect((await (await serving(ok)).post(name, {})).status).toBe(404)
    },
  )

  it('is only posted', async () => {
    const { url } = await serving(ok)
    const response = await fetch(`${url}/api/v1/control/status`, {
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
    })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('takes the idempotency key of a call as a header, too', async () => {
    const inputs: unknown[] = []
    const { post } = await serving({
      call: async input => (inputs.push(input), { operationId: 'op_1', result: { content: [] } }),
      status: async () => STATUS_REPORT,
    })
    const headers = { 'Idempotency-Key': 'report-1' }
    const call = { agent: 'ada', tool: 'send' }
    expect((await post('call', call, { headers })).status).toBe(200)
    expect((await post('call', { ...call, idempotencyKey: 'report-1' }, { headers })).status).toBe(200)
    expect(inputs).toEqual([
      { ...call, idempotencyKey: 'report-1' },
      { ...call, idempotencyKey: 'report-1' },
    ])
    const differing = await post('call', { ...call, idempotencyKey: 'report-2' }, { headers })
    expect([differing.status, await differing.json()]).toMatchObject([
      400,
      { code: 'INPUT_INVALID', detail: expect.stringContaining('"Idempotency-Key"') },
    ])
    expect((await post('call', call, { headers: { 'Idempotency-Key': 'two words' } })).status).toBe(400)
    expect((await post('status', {}, { headers })).status).toBe(200)
    expect(inputs).toHaveLength(2)
  })

  it('hears of all that is wrong with its input at once', async () => {
    const response = await (await serving({})).post('call', { agent: 1, timeoutMs: -1, surprise: true })
    expect(response.status).toBe(400)
    const problem = (await response.json()) as { code: string; details: { issues: { path: string[] }[] } }
    expect(problem.code).toBe('INPUT_INVALID')
    expect(problem.details.issues.map(issue => issue.path.join('.')).sort()).toEqual(['', 'agent', 'timeoutMs', 'tool'])
  })
})

describe('a request body', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const call = (input: string) => `{"agent":"a","tool":"t","input":${input}}`

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonx', ''])(
    'must be JSON, not "%s"',
    async type => {
      const response = await (await serving(ok)).post('status', {}, { headers: { 'Content-Type': type } })
      expect([response.status, await response.json()]).toMatchObject([415, { code: 'INPUT_INVALID' }])
    },
  )

  it('may say its character set', async () => {
    const response = await (await serving(ok)).post(
      'status',
      {},
      { headers: { 'Content-Type': 'application/json; charset=utf-8' } },
    )
    expect(response.status).toBe(200)
  })

  it.each(['', '{', 'hunter2', '{"a":1}x', '\ufeff{}'])('must be whole and is not quoted back (%j)', async body => {
    const response = await (await serving(ok)).post('status', {}, { body })
    const problem = await response.text()
    expect(response.status).toBe(body === '\ufeff{}' ? 200 : 400)
    expect(problem).not.toContain('hunter2')
  })

  it('must be UTF-8', async () => {
    const response = await (await serving(ok)).post('status', {}, { body: Buffer.from([0x7b, 0xff, 0x7d]) })
    expect(await response.json()).toMatchObject({ code: 'INPUT_INVALID', detail: 'The request body is not UTF-8.' })
  })

  it('is refused beyond the limit when it says its size', async () => {
    const { post } = await serving(ok)
    const response = await post('status', {}, { body: ' '.repeat(1024 * 1024 + 1) })
    expect([response.status, await response.json()]).toMatchObject([413, { code: 'LIMIT_EXCEEDED' }])
    expect((await post('status', {}, { body: `{}${' '.repeat(1024 * 1024 - 2)}` })).status).toBe(200)
  })

  it('is refused beyond the limit when it is sent in pieces', async () => {
    const { raw, port } = await serving(ok, { limits: { maxBodyBytes: 10 } })
    const head = [
      'POST /api/v1/control/status HTTP/1.1',
      `Host: localhost:${port}`,
      `Authorization: Bearer ${ADMIN_TOKEN}`,
    ]
    const rest = [
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
      'Connection: close',
      '',
      '8',
      '        ',
      '8',
      '        ',
      '',
    ]
    expect(await raw([...head, ...rest].join('\r\n'))).toMatch(/^HTTP\/1\.1 413 [^]*LIMIT_EXCEEDED/)
  })

  it('nests at most 64 deep', async () => {
    const { post } = await serving({ call: async () => ({ operationId: 'op', result: { content: [] } }) })
    expect((await post('call', {}, { body: call(nested(63)) })).status).toBe(200)
    const deeper = await post('call', {}, { body: call(nested(64)) })
    expect([deeper.status, await deeper.json()]).toMatchObject([413, { code: 'LIMIT_EXCEEDED' }])
    expect((await post('call', {}, { body: call(nested(400_000)) })).status).toBe(413)
  })

  it.each(['{"__proto__":{"admin":true}}', '{"a":[{"\\u005f_proto__":1}]}'])(
    'has no way to a prototype: %s',
    async input => {
      const response = await (await serving({})).post('call', {}, { body: call(input) })
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { code: 'INPUT_INVALID', detail: expect.stringContaining('__proto__') },
      ])
    },
  )
})

describe('an error', () => {
  const failing = (error: unknown): Partial<Control> => ({ status: () => Promise.reject(error) })

  it.each<[ErrorCode, number]>([
    ['INPUT_INVALID', 400],
    ['CONSENT_DENIED', 403],
    ['TOOL_NOT_FOUND', 404],
    ['STORE_LOCKED', 409],
    ['CURSOR_GONE', 410],
    ['LIMIT_EXCEEDED', 413],
    ['CONSENT_REQUIRED', 428],
    ['CANCELLED', 499],
    ['INTERNAL', 500],
    ['OUTCOME_UNKNOWN', 503],
    ['DEADLINE_EXCEEDED', 504],
  ])('%s has the status %i', async (code, status) => {
    const { post } = await serving(failing(new AppError(code, 'It is so.', { details: { tool: 'x' } })))
    const response = await post('status', {})
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ status, code, detail: 'It is so.', details: { tool: 'x' } })
  })

  it.each([
    new Error('password=hunter2'),
    new AppError('INTERNAL', 'password=hunter2', { cause: new Error('password=hunter2') }),
    'password=hunter2',
  ])('nobody foresaw keeps its text inside and is logged under the id that was shown (%#)', async error => {
    const { post, lines } = await serving(failing(error))
    const problem = (await (await post('status', {})).json()) as { code: string; details: { id: string } }
    expect(problem.code).toBe('INTERNAL')
    expect(JSON.stringify(problem)).not.toContain('hunter2')
    expect(lines.filter(line => line.startsWith('error') && line.includes(problem.details.id))).toHaveLength(1)
  })
})

describe('a streamed answer', () => {
  const linesOf = async (response: Response) =>
    (await response.text())
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as unknown)

  it('is progress, then the result', async () => {
    const { post } = await serving({
      async status(_input, options) {
        options?.onProgress?.({ progress: 1, total: 2, message: 'half' })
        options?.onProgress?.({ progress: 2, total: 2 })
        return STATUS_REPORT
      },
    })
    const response = await post('status', {}, STREAM)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(await linesOf(response)).toEqual([
      { heartbeat: true },
      { progress: { progress: 1, total: 2, message: 'half' } },
      { progress: { progress: 2, total: 2 } },
      { result: STATUS_REPORT },
    ])
  })

  it('ends with the error when there is one', async () => {
    const { post } = await serving({ status: () => Promise.reject(new AppError('TOOL_DISABLED', 'No.')) })
    const response = await post('status', {}, STREAM)
    expect(response.status).toBe(200)
    expect(await linesOf(response)).toEqual([
      { heartbeat: true },
      { error: { code: 'TOOL_DISABLED', kind: 'unavailable', retry: 'later', message: 'No.' } },
    ])
  })

  it.each([
    { why: 'the result', run: async () => ({ ...STATUS_REPORT, startedAt: 1n as unknown as number }) },
    {
      why: 'the details of the error',
      run: () => Promise.reject(new AppError('TOOL_DISABLED', 'No.', { details: { big: 1n } })),
    },
  ])('ends with one error when $why cannot be written as JSON', async ({ run }) => {
    const { post } = await serving({ status: run })
    expect(await linesOf(await post('status', {}, STREAM))).toEqual([
      { heartbeat: true },
      { error: expect.objectContaining({ code: 'INTERNAL' }) },
    ])
    expect((await post('status', {})).status).toBe(500)
  })

  it('begins at once and shows that it lives while there is nothing to say', async () => {
    const finish = deferred()
    const { post } = await serving(
      { status: () => finish.promise.then(() => STATUS_REPORT) },
      { limits: { heartbeatMs: 5 } },
    )
    const response = await post('status', {}, STREAM)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (text.split('\n').length <= 3) text += (await reader?.read())?.value ?? ''
    expect(text).toMatch(/^(\{"heartbeat":true\}\n){3}/)
    finish.resolve()
    for (let part = await reader?.read(); !part?.done; part = await reader?.read()) text += part?.value ?? ''
    expect(text.endsWith(`${JSON.stringify({ result: STATUS_REPORT })}\n`)).toBe(true)
  })

  it('says nothing after its last line, though a tool may still report', async () => {
    let late: ControlOptions['onProgress']
    const { post } = await serving({ status: async (_input, options) => ((late = options?.onProgress), STATUS_REPORT) })
    const lines = await linesOf(await post('status', {}, STREAM))
    late?.({ progress: 9 })
    expect(lines).toHaveLength(2)
  })

  it('drops progress for a client that does not read, and keeps the result', async () => {
    const { post } = await serving({
      async status(_input, options) {
        for (let step = 0; step < 10_000; step++) options?.onProgress?.({ progress: step, message: 'x'.repeat(100) })
        return STATUS_REPORT
      },
    })
    const lines = await linesOf(await post('status', {}, STREAM))
    expect(lines.length).toBeLessThan(1_000)
    expect(lines.at(-1)).toEqual({ result: STATUS_REPORT })
  })

  it('is not begun for a request that is refused', async () => {
    const response = await (await serving(ok)).post('status', { surprise: 1 }, STREAM)
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/problem+json'])
  })
})

describe('a client that goes away', () => {
  it.each(['application/json', 'application/x-ndjson'])('aborts what it asked for (%s)', async accept => {
    const entered = deferred()
    const aborted = deferred()
    const { post } = await serving({
      status(_input, options) {
        options?.signal?.addEventListener('abort', () => aborted.resolve())
        entered.resolve()
        return new Promise(() => {})
      },
    })
    const leave = new AbortController()
    const answer = post('status', {}, { headers: { Accept: accept }, signal: leave.signal }).then(response =>
      response.text(),
    )
    const ended = answer.catch((error: unknown) => error)
    await entered.promise
    leave.abort()
    expect(await ended).toBeInstanceOf(Error)
    await aborted.promise
  })

  it('before its request is complete is no error of ours', async () => {
    const { port, lines, close } = await serving(ok)
    const socket = connect(port, '127.0.0.1')
    const head = [
      'POST /api/v1/control/status HTTP/1.1',
      `Host: localhost:${port}`,
      `Authorization: Bearer ${ADMIN_TOKEN}`,
    ]
    const request = [...head, 'Content-Type: application/json', 'Expect: 100-continue', 'Content-Length: 9', '', '']
    // The interim answer shows that the request is being read.
    await new Promise(resolve => socket.once('data', resolve).write(request.join('\r\n')))
    socket.destroy()
    await close()
    expect(lines.filter(line => line.startsWith('error'))).toEqual([])
  })
})
