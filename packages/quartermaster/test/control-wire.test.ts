import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createControlClient } from '../src/adapters/control-client/index.ts'
import { connectToOwner, openDataFolder } from '../src/adapters/data-folder/index.ts'
import { AppError, CONTROL, type Control, ERRORS, type ErrorCode, type Progress } from '../src/contracts/index.ts'
import { deferred } from '../src/testing/deferred.ts'
import { fakeControl, STATUS_REPORT } from '../src/testing/fake-control.ts'
import { ADMIN_TOKEN, startHttpServer, type TestServer, type TestServerOptions } from '../src/testing/http-server.ts'

let server: TestServer | undefined

afterEach(async () => {
  await server?.close(0)
  server = undefined
})

/** The far side of a real connection to these operations. */
async function remote(operations: Partial<Control>, options: TestServerOptions = {}): Promise<Control> {
  server = await startHttpServer({ control: fakeControl(operations), ...options })
  return createControlClient({ url: server.url, token: ADMIN_TOKEN })
}

const CALL = { agent: 'researcher', tool: 'weather', input: { city: 'Zürich', nested: [{ deep: null }] } }
const ANSWER = {
  operationId: 'op_1',
  result: { content: [{ type: 'text' as const, text: 'Sunny ☀' }], structuredContent: { c: 21 } },
}

describe('Control over the wire', () => {
  it('has every operation of the table, and each arrives as itself', async () => {
    const names = Object.keys(CONTROL)
    const echo = (name: string) => () => Promise.reject(new AppError('NAME_UNKNOWN', name))
    const control = await remote(Object.fromEntries(names.map(name => [name, echo(name)])))
    expect(Object.keys(control)).toEqual(names)
    const inputs: Record<string, object> = {
      tool: { name: 'x' },
      checkAgent: { name: 'x' },
      prompt: { agent: 'x' },
      grant: { agent: 'x', capability: 'x' },
      call: CALL,
      readResult: { agent: 'x', resultId: 'x', offset: 0 },
      recheck: { name: 'x' },
      createToken: { agent: 'x' },
      revokeToken: { id: 'x' },
      rotateToken: { id: 'x', overlapMs: 0 },
      workspace: { id: 'x' },
      createWorkspace: { name: 'x' },
      archiveWorkspace: { id: 'x' },
      restoreWorkspace: { id: 'x' },
      createOrganisation: { name: 'x' },
      externalPeer: { id: 'x' },
      addExternalPeer: { name: 'x', cardUrl: 'https://example.com' },
      refreshExternalPeer: { id: 'x' },
      removeExternalPeer: { id: 'x' },
      revokeJoinCode: { id: 'x' },
      removePerson: { name: 'x' },
      memory: { id: 'x' },
      forgetMemory: { id: 'x' },
      delegation: { id: 'x' },
      cancelDelegation: { id: 'x' },
      operation: { id: 'x' },
      retryOperation: { id: 'x' },
      cancelOperation: { id: 'x' },
      verifyOperation: { id: 'x' },
      dropOperation: { id: 'x' },
      approval: { id: 'x' },
      answerApproval: { id: 'x', decision: 'allow', lasting: 'once' },
      revokeGrants: { id: 'x' },
      lendToken: { agent: 'x' },
      extendToken: { id: 'x' },
      upstreamLogs: { name: 'x' },
      restartUpstream: { name: 'x' },
      decideReview: { upstream: 'x', items: [{ kind: 'tool', name: 'x', hash: 'x' }], decision: 'accept' },
      addUpstream: { name: 'x', entry: {} },
      setUpstreamConsent: { names: ['x'], consent: 'all' },
      removeUpstream: { name: 'x' },
      beginLogin: { upstream: 'x' },
      finishLogin: { attempt: 'x' },
      logout: { upstream: 'x' },
    }
    const ask = control as unknown as Record<string, (input: object) => Promise<unknown>>
    const answered = await Promise.all(
      names.map(name => ask[name]?.(inputs[name] ?? {}).catch((error: AppError) => error.message)),
    )
    expect(answered).toEqual(names)
  })

  it.each([
    ['nothing', {}],
    ['everything at once', { items: [] }],
    ['a name without its hash', { items: [{ kind: 'tool', name: 'read' }] }],
    ['an empty hash', { items: [{ kind: 'tool', name: 'read', hash: '' }] }],
  ])('refuses a decision about what no person has seen: %s', async (_what, input) => {
    const decided: unknown[] = []
    const control = await remote({ decideReview: async input => (decided.push(input), []) })
    const choice = { upstream: 'x', decision: 'accept', ...input } as Parameters<typeof control.decideReview>[0]
    await expect(control.decideReview(choice)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(decided).toEqual([])
  })

  it('refuses to revoke grants that the request does not name', async () => {
    const revoked: unknown[] = []
    const control = await remote({ revokeGrants: async filter => (revoked.push(filter), { count: 1 }) })
    await expect(control.revokeGrants({})).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(revoked).toEqual([])
  })

  it('carries arguments of a call that waits for a person as they are', async () => {
    const facts = {
      id: 'op_1',
      agent: 'ada',
      tool: 'write_file',
      asks: [
        { operation: 'files.write', reason: 'W.', weight: 'high' as const, scope: null, grantable: 'any' as const },
      ],
      createdAt: 1,
      expiresAt: 2,
      state: 'open' as const,
      digest: 'd',
      arguments: { 'a\u202e': ['\u200b', null, { b: 1.5 }] },
    }
    const control = await remote({ approval: async () => facts })
    expect(await control.approval({ id: 'op_1' })).toEqual(facts)
  })

  it.each(['', 'two words', 'ü', 'a\n', 'x'.repeat(256)])('refuses the idempotency key %j', async idempotencyKey => {
    const calls: unknown[] = []
    const control = await remote({ call: async input => (calls.push(input), ANSWER) })
    await expect(control.call({ ...CALL, idempotencyKey })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      details: { issues: [{ path: ['idempotencyKey'] }] },
    })
    await control.call({ ...CALL, idempotencyKey: 'x'.repeat(255) })
    expect(calls).toHaveLength(1)
  })

  it('carries a handle on a call that waits', async () => {
    const waiting = { status: 'waiting', operationId: 'op_1', for: 'retry', nextAttemptAt: 1_700_000_000_000 } as const
    const control = await remote({ call: async () => ({ ...ANSWER, waiting }) })
    expect(await control.call({ ...CALL, idempotencyKey: 'k' })).toEqual({ ...ANSWER, waiting })
  })

  it('carries input, progress and result unchanged', async () => {
    const inputs: unknown[] = []
    const control = await remote({
      async call(input, options) {
        inputs.push(input)
        options?.onProgress?.({ progress: 1, total: 2, message: 'looking up' })
        return ANSWER
      },
    })
    const seen: Progress[] = []
    expect(await control.call(CALL, { onProgress: progress => void seen.push(progress) })).toEqual(ANSWER)
    expect(inputs).toEqual([CALL])
    expect(seen).toEqual([{ progress: 1, total: 2, message: 'looking up' }])
  })

  it.each(Object.keys(ERRORS).filter(code => code !== 'INTERNAL') as ErrorCode[])(
    'carries the error %s with its details',
    async code => {
      const control = await remote({
        status: () => Promise.reject(new AppError(code, 'Why, and what next.', { details: { tool: 'x' } })),
      })
      await expect(control.status({})).rejects.toMatchObject({
        code,
        message: 'Why, and what next.',
        details: { tool: 'x' },
      })
    },
  )

  it('carries no text of an unexpected error', async () => {
    const control = await remote({ status: () => Promise.reject(new Error('hunter2')) })
    await expect(control.status({})).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.not.stringContaining('hunter2'),
    })
  })

  it('carries wrong inputs back as all their issues', async () => {
    const control = await remote({})
    await expect(control.readResult({ agent: 'a', resultId: 'r', offset: -1 })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      details: { issues: [{ path: ['offset'], message: expect.any(String) }] },
    })
  })

  it('carries a large result', async () => {
    const text = 'ü'.repeat(4 * 1024 * 1024)
    const control = await remote({
      call: async () => ({ operationId: 'op', result: { content: [{ type: 'text', text }] } }),
    })
    const { result } = await control.call(CALL)
    expect(result.content).toEqual([{ type: 'text', text }])
  })

  it('carries a cancellation to the other side', async () => {
    const entered = deferred()
    const aborted = deferred()
    const control = await remote({
      call(_input, options) {
        options?.signal?.addEventListener('abort', () => aborted.resolve())
        entered.resolve()
        return new Promise(() => {})
      },
    })
    const cancel = new AbortController()
    const ended = control.call(CALL, { signal: cancel.signal }).catch((error: unknown) => error)
    await entered.promise
    cancel.abort()
    expect(await ended).toMatchObject({ code: 'CANCELLED' })
    await aborted.promise
  })

  it('serves many at once', async () => {
    const control = await remote({
      call: async input => ({ operationId: String(input.input), result: { content: [] } }),
    })
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => control.call({ ...CALL, input: index })))
    expect(answers.map(answer => answer.operationId)).toEqual(Array.from({ length: 50 }, (_, index) => String(index)))
  })

  it('refuses another token', async () => {
    await remote({ status: async () => STATUS_REPORT })
    const stranger = createControlClient({ url: server?.url ?? '', token: 'another' })
    await expect(stranger.status({})).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  it('has an unknown outcome when the server is cut off during a call', async () => {
    const entered = deferred()
    const control = await remote({ call: () => (entered.resolve(), new Promise(() => {})) })
    const ended = control.call(CALL).catch((error: unknown) => error)
    await entered.promise
    await server?.close(0)
    expect(await ended).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(control.call(CALL)).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
  })

  it('lets a call in flight finish while the server closes', async () => {
    const entered = deferred()
    const finish = deferred()
    const control = await remote({ call: () => (entered.resolve(), finish.promise.then(() => ANSWER)) })
    const answer = control.call(CALL)
    await entered.promise
    const closed = server?.close(60_000)
    finish.resolve()
    expect(await answer).toEqual(ANSWER)
    await closed
  })

  it('is found through the data folder, by who can read the folder', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'control-wire-'))
    const folder = openDataFolder(dir)
    await folder.ensure()
    const token = await folder.adminToken()
    await remote(
      { status: async () => STATUS_REPORT },
      { isAdmin: folder.verifier(token), prove: folder.prover(token) },
    )
    await folder.writeEndpoint({ url: server?.url ?? '', pid: process.pid, startedAt: 0, version: '1.2.3' })
    const owner = await connectToOwner({ dir })
    expect(owner).toEqual({ url: server?.url, token })
    expect(await createControlClient(owner ?? { url: '', token: '' }).status({})).toEqual(STATUS_REPORT)
    await rm(dir, { recursive: true })
  })
})
