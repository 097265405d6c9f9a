import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import type { ApprovalFacts, ApprovalSummary, CallAnswer, GrantFacts, OperationFacts } from '../src/contracts/index.ts'
import { runProcess } from './support/product.ts'
import { rawCall, tampered } from './support/raw-call.ts'
import {
  type ClientEra,
  type FixtureOptions,
  ILL_SERVER,
  onProcessFixture,
  openFixture,
  openProcessFixture,
  program,
  type UpstreamFixture,
} from './support/upstream-fixture.ts'

const ERAS = ['auto', 'legacy'] as const satisfies ClientEra[]
const FILES = { capabilities: { files: { dirs: ['.'] } } }

/** An `up` whose agent may write files when a person allows it. Its calls wait this long for that. */
const fixture = (consentWaitSeconds: number, more: Partial<FixtureOptions> = {}) =>
  openFixture(waiting(consentWaitSeconds, more))

function waiting(consentWaitSeconds: number, more: Partial<FixtureOptions> = {}): FixtureOptions {
  return { mcpServers: {}, agents: { default: FILES }, settings: { consentWaitSeconds }, ...more }
}

interface Answered {
  readonly isError?: boolean
  readonly content: { text?: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly _meta?: Record<string, unknown>
}

async function write(client: Client, path = 'a.txt', content = 'one'): Promise<Answered> {
  return (await client.callTool({ name: 'write_file', arguments: { path, content } })) as Answered
}

const textIn = ({ content }: Answered) => content.map(({ text = '' }) => text).join('\n')

/** The id of the operation that a caller was told of. */
const handleIn = (answered: Answered) => /op_[\w-]+/.exec(textIn(answered))?.[0] ?? ''

const contentOf = (dir: string, path = 'a.txt') => readFile(join(dir, path), 'utf8').catch(() => undefined)

const open = ({ control }: UpstreamFixture) => control<ApprovalSummary[]>('approvals')

/** Waits until so many calls wait, and answers their ids, oldest first. */
async function asked(at: UpstreamFixture, amount = 1): Promise<string[]> {
  await expect.poll(async () => (await open(at)).length).toBe(amount)
  return (await open(at)).map(({ id }) => id)
}

const stateOf = async ({ control }: UpstreamFixture, id: string) =>
  (await control<OperationFacts>('operation', { id })).state

describe('a call that no person has allowed', () => {
  it.each(ERAS)('waits for a person, who sees all of it, and is done once allowed (era %s)', async era => {
    const at = await fixture(0)
    const client = await at.connect(era)
    const waiting = await write(client, 'a.txt', 'hun\u202eter2 ')
    const id = handleIn(waiting)
    expect(waiting._meta).toMatchObject({ 'quartermaster/waiting': { for: 'approval', operationId: id } })
    expect(textIn(waiting)).toContain(
      `Waiting for approval. Tell your person: quartermaster approvals allow ${id} (or deny). Expires in 24 hours; ` +
        `runs automatically once allowed. Continue with other work; get_status {"id":"${id}"} shows the result.`,
    )

    const listed = await at.run('approvals')
    expect(listed.stdout).toMatch(/^op_\S+ +default +write_file +moderate +files\.write for "\S*a\.txt" /m)
    const shown = await at.run('approvals', 'show', id)
    expect(shown.stdout).toContain('"content": "hun\\u202eter2·"')
    const facts = (await at.run('approvals', 'show', id, '--json')).json<ApprovalFacts>()
    expect(facts).toMatchObject({ id, state: 'open', arguments: { path: 'a.txt', content: 'hun\u202eter2 ' } })
    const masked = await at.run('operations', 'show', id)
    expect(masked.stdout).toMatch(/^Arguments +content=••• path=•••$/m)
    expect(masked.stdout).toMatch(/^To decide +quartermaster approvals show op_/m)
    expect(await contentOf(at.dir)).toBeUndefined()

    const allowed = await at.run('approvals', 'allow', id)
    expect(allowed).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ "write_file" of default is allowed') })
    await expect.poll(() => contentOf(at.dir)).toBe('hun\u202eter2 ')
    await expect.poll(() => stateOf(at, id)).toBe('succeeded')
    const status = await client.callTool({ name: 'get_status', arguments: { id } })
    expect(textIn(status as Answered)).toContain(`${id} (write_file): done`)
    expect(await open(at)).toEqual([])
    expect(at.up.stderr()).toContain(id)
    expect(at.up.stderr()).not.toContain('ter2')
  })

  it.each(ERAS)('continues automatically when it is allowed while its caller waits (era %s)', async era => {
    const at = await fixture(600)
    const answer = write(await at.connect(era))
    const [id = ''] = await asked(at)
    await at.control('answerApproval', { id, decision: 'allow', lasting: 'once' })
    expect((await answer).structuredContent).toMatchObject({ path: 'a.txt', created: true })
    expect(await contentOf(at.dir)).toBe('one')
  })

  it.each(ERAS)('is refused when a person says no, and answers the caller so (era %s)', async era => {
    const at = await fixture(600)
    const answer = write(await at.connect(era))
    const [id = ''] = await asked(at)
    expect(await at.run('approvals', 'deny', id)).toMatchObject({ code: 0 })
    expect(textIn(await answer)).toContain('CONSENT_DENIED')
    expect([await contentOf(at.dir), await stateOf(at, id)]).toEqual([undefined, 'denied'])
    expect(await at.run('approvals', 'allow', id, '--yes')).toMatchObject({ code: 8 })
  })

  it('is answered once, also when two do so at once', async () => {
    const at = await fixture(0)
    const id = handleIn(await write(await at.connect()))
    const both = await Promise.all([at.run('approvals', 'allow', id, '--yes'), at.run('approvals', 'deny', id)])
    const [allowed, denied] = both.map(({ code }) => code)
    expect([allowed, denied].toSorted()).toEqual([0, 8])
    const end = allowed === 0 ? 'succeeded' : 'denied'
    await expect.poll(() => stateOf(at, id)).toBe(end)
    expect(await contentOf(at.dir)).toBe(allowed === 0 ? 'one' : undefined)
  })

  it('waits over a kill, and is done when it is allowed after it, with an up and without', async () => {
    const first = await openProcessFixture(waiting(0))
    const client = await first.connect()
    const [one, two] = [handleIn(await write(client, 'one.txt')), handleIn(await write(client, 'two.txt'))]
    await first.up.kill()
    expect(await runProcess(['approvals', 'allow', one, '--yes'], { cwd: first.dir })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('It is done.'),
    })
    expect(await contentOf(first.dir, 'one.txt')).toBe('one')
    const second = await onProcessFixture(first.dir)
    expect(await asked(second)).toEqual([two])
    await second.control('answerApproval', { id: two, decision: 'allow', lasting: 'once' })
    await expect.poll(() => contentOf(first.dir, 'two.txt')).toBe('one')
  })

  it('waits on while the file of its agent cannot be read, and ends when the agent has the tool no more', async () => {
    const at = await fixture(0)
    const client = await at.connect()
    const [one, two] = [handleIn(await write(client, 'one.txt')), handleIn(await write(client, 'two.txt'))]
    const file = join(at.dir, 'agents', 'default.json')
    const whole = await readFile(file, 'utf8')
    const isRead = async (isWhole: boolean) => {
      await writeFile(file, isWhole ? whole : whole.slice(0, -3))
      const granted = async () => (await at.control<{ granted: number }[]>('agents')).map(agent => agent.granted > 0)
      await expect.poll(granted).toEqual([isWhole])
    }
    await isRead(false)
    await isRead(true)
    await at.control('answerApproval', { id: one, decision: 'allow', lasting: 'once' })
    await expect.poll(() => contentOf(at.dir, 'one.txt')).toBe('one')
    await writeFile(file, '{ "capabilities": {} }')
    await expect.poll(() => stateOf(at, two)).toBe('failed')
  })

  it('has a line in the audit about who allowed it, and one about its run', async () => {
    const at = await fixture(600)
    const answer = write(await at.connect())
    const [id = ''] = await asked(at)
    await at.control('answerApproval', { id, decision: 'allow', lasting: 'once' })
    await answer
    const { lines } = await at.control<{ lines: object[] }>('audit', { tool: 'write_file' })
    expect(lines).toMatchObject([
      { operationId: id, outcome: 'succeeded', consent: { operations: ['files.write'], by: 'owner' } },
      { operationId: id, outcome: 'notRun', code: 'CONSENT_ALLOWED', consent: { by: 'owner', lasting: 'once' } },
    ])
  })

  it('waits for others too when it was made at a command line without a terminal', async () => {
    const at = await fixture(0)
    const called = await at.run('call', 'write_file', 'path=a.txt', 'content=one')
    expect([called.code, called.stdout]).toEqual([14, ''])
    const [id = ''] = /op_[\w-]+/.exec(called.stderr) ?? []
    expect(called.stderr).toContain(`To decide: quartermaster approvals show ${id}`)
    await at.control('answerApproval', { id, decision: 'allow', lasting: 'once' })
    await expect.poll(() => contentOf(at.dir)).toBe('one')
  })

  it('does not hold a command without a terminal', async () => {
    const at = await fixture(600)
    await at.up.stop()
    const called = await at.run('call', 'write_file', 'path=a.txt', 'content=one', '--json')
    expect(called.code).toBe(14)
    const { waiting } = called.json<CallAnswer>()
    expect(waiting).toMatchObject({ for: 'approval' })
    const listed = await at.run('approvals', '--json')
    expect(listed.json<ApprovalSummary[]>()).toMatchObject([{ id: waiting?.operationId, tool: 'write_file' }])
  })
})

describe('an answer that lasts', () => {
  it('counts for the same file and agent until it is taken back', async () => {
    const agents = { default: FILES, other: FILES }
    const at = await fixture(0, { agents })
    const [client, stranger] = [await at.connect(), await at.connect('auto', { agent: 'other' })]
    const id = handleIn(await write(client))
    expect(await at.run('approvals', 'allow', id, '--for', '10m', '--yes')).toMatchObject({ code: 0 })
    await expect.poll(() => stateOf(at, id)).toBe('succeeded')

    expect((await write(client, 'a.txt', 'two')).structuredContent).toMatchObject({ path: 'a.txt', created: false })
    expect(textIn(await write(client, 'b.txt'))).toContain('Waiting for approval')
    expect(textIn(await write(stranger, 'a.txt'))).toContain('Waiting for approval')
    expect(await open(at)).toMatchObject([
      { agent: 'default', asks: [{ scope: expect.stringMatching(/[\\/]b\.txt$/) }] },
      { agent: 'other' },
    ])

    const grants = (await at.run('grants', 'list', '--json')).json<GrantFacts[]>()
    const scope = expect.stringMatching(/[\\/]a\.txt$/)
    expect(grants).toMatchObject([{ agent: 'default', operation: 'files.write', scope, lasting: 'time' }])
    expect(await at.run('grants', 'revoke', '--agent', 'default')).toMatchObject({ code: 0 })
    expect(textIn(await write(client, 'a.txt', 'three'))).toContain('Waiting for approval')
    expect(await contentOf(at.dir)).toBe('two')
    expect(await at.run('grants', 'revoke', '--agent', 'default')).toMatchObject({ code: 1 })
  })

  it('can be a no, and no person is asked again', async () => {
    const at = await fixture(0)
    const client = await at.connect()
    const id = handleIn(await write(client))
    expect(await at.run('approvals', 'deny', id, '--for', '10m')).toMatchObject({ code: 0 })
    expect(textIn(await write(client))).toContain('CONSENT_DENIED')
    expect(await open(at)).toEqual([])
  })
})

describe('the word of a client', () => {
  const agents = {
    default: { ...FILES, consent: { askClient: true } },
    strict: FILES,
  }
  const elicitation = { capabilities: { elicitation: { form: {} } } }

  it.each(ERAS)('counts where the agent’s file says so, for one call (era %s)', async era => {
    const at = await fixture(0, { agents })
    const client = await at.connect(era, elicitation)
    const questions: string[] = []
    const answers = [{ action: 'accept' as const, content: { allow: true } }, { action: 'decline' as const }]
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(String(params.message))
      return answers.shift() ?? { action: 'cancel' as const }
    })
    expect((await write(client)).structuredContent).toMatchObject({ path: 'a.txt', created: true })
    expect(questions[0]).toContain('"content": "one"')
    expect(textIn(await write(client, 'a.txt', 'two'))).toContain('CONSENT_DENIED')
    expect(await contentOf(at.dir)).toBe('one')
    expect(questions).toHaveLength(2)
  })

  it.each(ERAS)('is not asked for where it does not (era %s)', async era => {
    const at = await fixture(0, { agents })
    const client = await at.connect(era, { ...elicitation, agent: 'strict' })
    let isAsked = false
    client.setRequestHandler('elicitation/create', async () => {
      isAsked = true
      return { action: 'accept', content: { allow: true } }
    })
    expect(textIn(await write(client))).toContain('Waiting for approval')
    expect([isAsked, await contentOf(at.dir)]).toEqual([false, undefined])
  })

  it('counts with the state it was asked with, unchanged, for the same call, and once', async () => {
    const at = await fixture(0, { agents })
    const send = await rawCall(at)
    const call = (path: string, more = {}) => send('write_file', { path, content: 'one' }, more)
    const first = await call('a.txt')
    expect(first).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
    const [key = ''] = Object.keys(first.inputRequests as object)
    const yes = { inputResponses: { [key]: { action: 'accept', content: { allow: true } } } }
    const state = String(first.requestState)

    expect(await call('a.txt', { ...yes, requestState: tampered(state) })).toHaveProperty('code')
    expect(JSON.stringify(await call('b.txt', { ...yes, requestState: state }))).toContain('CURSOR_GONE')
    expect([await contentOf(at.dir), await contentOf(at.dir, 'b.txt')]).toEqual([undefined, undefined])

    const done = await call('a.txt', { ...yes, requestState: state })
    expect(done).toMatchObject({ structuredContent: { path: 'a.txt', created: true } })
    // The same again is the same call: it gets the same answer, and the file is not written a second time.
    expect(await call('a.txt', { ...yes, requestState: state })).toEqual(done)
    const no = { inputResponses: { [key]: { action: 'decline' } } }
    expect(JSON.stringify(await call('a.txt', { ...no, requestState: state }))).toContain('REQUEST_REFUSED')
    const { operations } = await at.control<{ operations: object[] }>('operations')
    expect(operations).toHaveLength(1)
    expect(await call('a.txt')).toMatchObject({ resultType: 'input_required' })
  })
})

describe('what a person allows of a server of others', () => {
  const log = {
    ...program(ILL_SERVER),
    tools: { append: { consent: ['log.write'] } },
    consentOperations: { 'log.write': { scope: '{file}', weight: 'moderate' } },
  }
  const withLog = (consent: object = {}) =>
    fixture(0, { mcpServers: { log }, agents: { default: { capabilities: { log: {} }, consent } } })
  const line = (at: UpstreamFixture, text: string, path = 'a.txt') => ({ file: join(at.dir, path), text })

  it.each(ERAS)('is done with the arguments that it was allowed for, and with no others (era %s)', async era => {
    const at = await withLog()
    await expect.poll(async () => (await at.status('log'))?.state).toBe('up')
    const client = await at.connect(era)
    const append = async (text: string, path?: string) =>
      (await client.callTool({ name: 'log_append', arguments: line(at, text, path) })) as Answered
    const [one, two] = [handleIn(await append('one')), handleIn(await append('two'))]
    await at.control('answerApproval', { id: one, decision: 'allow', lasting: 'once' })
    await expect.poll(() => stateOf(at, one)).toBe('succeeded')
    expect(await asked(at)).toEqual([two])
    const again = handleIn(await append('one'))
    expect(await asked(at, 2)).toEqual([two, again])
    expect(await contentOf(at.dir)).toBe('one\n')

    await at.control('answerApproval', { id: again, decision: 'deny', lasting: 'once' })
    expect(await at.run('approvals', 'allow', two, '--for', '10m', '--yes')).toMatchObject({ code: 0 })
    await expect.poll(() => stateOf(at, two)).toBe('succeeded')
    expect(textIn(await append('three'))).toBe('done')
    expect(textIn(await append('three', 'b.txt'))).toContain('Waiting for approval')
    expect([await contentOf(at.dir), await contentOf(at.dir, 'b.txt')]).toEqual(['one\ntwo\nthree\n', undefined])
  })

  it('is not done with other arguments in the name of the question that a client has answered', async () => {
    const at = await withLog({ askClient: true })
    await expect.poll(async () => (await at.status('log'))?.state).toBe('up')
    const send = await rawCall(at)
    const call = (args: object, more = {}) => send('log_append', args, more)
    const first = await call(line(at, 'one'))
    const [key = ''] = Object.keys(first.inputRequests as object)
    const yes = { inputResponses: { [key]: { action: 'accept', content: { allow: true } } } }
    const allowed = { ...yes, requestState: first.requestState }
    for (const other of [line(at, 'two'), line(at, 'one', 'b.txt'), { ...line(at, 'one'), more: true }])
      expect(JSON.stringify(await call(other, allowed))).toContain('CURSOR_GONE')
    expect([await contentOf(at.dir), await contentOf(at.dir, 'b.txt')]).toEqual([undefined, undefined])
    expect(JSON.stringify(await call(line(at, 'one'), allowed))).toContain('"done"')
    expect(await contentOf(at.dir)).toBe('one\n')
  })
})
