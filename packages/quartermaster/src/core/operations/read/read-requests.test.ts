import { describe, expect, it } from 'vitest'
import { type Answer, AppError, type ContentBlock } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { DOWN, failureOf, fakeService, simplePrompt, simpleResource, UP } from '../../../testing/hub.ts'
import { openReadFixture, review } from '../../../testing/read-fixture.ts'
import { definePrompt, defineResource } from '../../catalogue/index.ts'

const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })

describe('a prompt', () => {
  it('that renders a text is one message of the user', async () => {
    const { render } = await openReadFixture({ prompts: [review] })
    expect(await render('review', { file: 'a.ts' })).toEqual({
      description: 'Asks for a review.',
      messages: [user('Review a.ts and be kind.')],
    })
  })

  it('may render messages, or a whole result', async () => {
    const image: ContentBlock = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
    const messages = [{ role: 'assistant' as const, content: image }, user('What is this?')]
    const { render } = await openReadFixture({
      prompts: [
        simplePrompt('list', { render: () => messages }),
        simplePrompt('whole', { render: async () => ({ description: 'Today.', messages }) }),
      ],
    })
    expect(await render('list')).toEqual({ description: 'Asks for list.', messages })
    expect(await render('whole')).toEqual({ description: 'Today.', messages })
  })

  it('receives its caller and configuration', async () => {
    const render = (_args: unknown, { caller, config }: { caller: { name: string }; config: unknown }) =>
      `${caller.name} ${JSON.stringify(config)}`
    const hub = await openReadFixture({ prompts: [simplePrompt('who', { render } as never)] })
    expect((await hub.render('who')).messages).toEqual([user('worker {"tone":"dry","tools":[]}')])
  })

  it('that is not granted is answered as one that does not exist', async () => {
    const { hub, stranger } = await openReadFixture({ prompts: [review] })
    for (const name of ['review', 'nothing']) {
      await expect(hub.readings.renderPrompt({ session: stranger, name })).rejects.toMatchObject({
        code: 'PROMPT_NOT_FOUND',
        message: `"stranger" has no prompt "${name}".`,
      })
    }
  })

  it('gets its arguments checked, all problems at once', async () => {
    const { render } = await openReadFixture({ prompts: [review] })
    await expect(render('review', { fiel: 'a.ts', tone: 1 as never })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message:
        'The arguments of the prompt "review" are wrong. file is missing (a string). ' +
        'fiel is not an argument. Did you mean "file"? tone must be a string.',
      details: { issues: [{ path: ['file'] }, { path: ['fiel'] }, { path: ['tone'] }] },
    })
  })

  it('may ask the person first, and its time stands still meanwhile', async () => {
    const asking = definePrompt({
      name: 'asking',
      short: 'Asks.',
      async render(_args, { ask }) {
        const { content } = await ask({ message: 'For whom?' })
        return `For ${String(content?.name)}.`
      },
    })
    const { hub, render } = await openReadFixture({ prompts: [asking], settings: { callTimeoutSeconds: 1 } })
    const answered = deferred<Answer>()
    const rendered = render('asking', {}, { ask: () => answered.promise })
    await hub.clock.advance(60_000)
    answered.resolve({ action: 'accept', content: { name: 'Ada' } })
    expect((await rendered).messages).toEqual([user('For Ada.')])
    await expect(render('asking')).rejects.toMatchObject({ code: 'ANSWER_UNAVAILABLE' })
  })

  it('writes its log for a client that wants to see it', async () => {
    const render = (_args: unknown, { log }: { log: { info(text: string): void } }) => {
      log.info('looking')
      return 'done'
    }
    const hub = await openReadFixture({ prompts: [simplePrompt('talks', { render } as never)] })
    const lines: unknown[] = []
    await hub.render('talks', {}, { onLog: (level, message) => lines.push([level, message]) })
    expect(lines).toEqual([['info', 'looking']])
  })
})

describe('a resource', () => {
  it('holds a text, bytes or contents', async () => {
    const contents = { uri: 'a://other', text: 'Elsewhere.' }
    const { read } = await openReadFixture({
      resources: [
        simpleResource('a://text', { read: () => 'Hello.' }),
        simpleResource('a://markdown', { mimeType: 'text/markdown', read: async () => '# Hello' }),
        simpleResource('a://bytes', { read: () => Uint8Array.of(1, 2, 3) }),
        simpleResource('a://one', { read: () => contents }),
        simpleResource('a://many', { read: () => [contents, { uri: 'a://blob', blob: 'AQID' }] }),
      ],
    })
    expect(await read('a://text')).toEqual([{ uri: 'a://text', mimeType: 'text/plain', text: 'Hello.' }])
    expect(await read('a://markdown')).toMatchObject([{ mimeType: 'text/markdown', text: '# Hello' }])
    expect(await read('a://bytes')).toEqual([{ uri: 'a://bytes', mimeType: 'application/octet-stream', blob: 'AQID' }])
    expect(await read('a://one')).toEqual([contents])
    expect(await read('a://many')).toEqual([contents, { uri: 'a://blob', blob: 'AQID' }])
  })

  it('of a template receives the variables of the address', async () => {
    const page = defineResource({
      name: 'page',
      uriTemplate: 'docs://{book}/{page}',
      read: ({ uri, params }) => `${uri}: ${params.book}, ${params.page}`,
    })
    const { read } = await openReadFixture({ resources: [page] })
    expect(await read('docs://guide/first%20steps')).toMatchObject([
      { uri: 'docs://guide/first%20steps', text: 'docs://guide/first%20steps: guide, first steps' },
    ])
  })

  it('that is not granted is answered as one that does not exist', async () => {
    const { hub, stranger } = await openReadFixture({ resources: [simpleResource('a://b')] })
    for (const uri of ['a://b', 'a://c']) {
      await expect(hub.readings.readResource({ session: stranger, uri })).rejects.toMatchObject({
        code: 'RESOURCE_NOT_FOUND',
        message: `"stranger" has no resource at "${uri}".`,
      })
    }
  })
})

describe('a reading', () => {
  it('that throws is an error that names the definition', async () => {
    const read = () => {
      throw new TypeError('no such page')
    }
    const { read: readUri } = await openReadFixture({ resources: [simpleResource('a://b', { read })] })
    await expect(readUri('a://b')).rejects.toMatchObject({
      code: 'READING_FAILED',
      message: '"resource:a://b" failed: no such page',
    })
  })

  it('may say itself with a code what is wrong', async () => {
    const read = async () => {
      throw new AppError('RESOURCE_NOT_FOUND', 'There is no page 7.')
    }
    const { read: readUri } = await openReadFixture({ resources: [simpleResource('a://b', { read })] })
    await expect(readUri('a://b')).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND', message: 'There is no page 7.' })
  })

  it.each([
    ['a number', 7],
    ['nothing', undefined],
    ['a message of nobody', [{ role: 'system', content: { type: 'text', text: '' } }]],
    ['content of no kind', { messages: [{ role: 'user', content: { type: 'smell' } }] }],
  ])('that renders %s is refused', async (_what, output) => {
    const { render } = await openReadFixture({ prompts: [simplePrompt('odd', { render: () => output })] })
    await expect(render('odd')).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      message: expect.stringContaining('"prompt:odd"'),
    })
  })

  it.each([
    ['a number', 7],
    ['nothing', undefined],
    ['contents without an address', { text: 'Hello.' }],
    ['bytes that are not base64', { uri: 'a://b', blob: '!' }],
  ])('that reads %s is refused', async (_what, output) => {
    const { read } = await openReadFixture({ resources: [simpleResource('a://b', { read: () => output })] })
    await expect(read('a://b')).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
  })

  it('that is too large is refused, never cut', async () => {
    const { render, read } = await openReadFixture({
      prompts: [simplePrompt('long', { render: () => 'x'.repeat(1024) })],
      resources: [
        simpleResource('a://fits', { read: () => 'x'.repeat(1024) }),
        simpleResource('a://text', { read: () => 'ä'.repeat(513) }),
        simpleResource('a://bytes', { read: () => new Uint8Array(1025) }),
        simpleResource('a://contents', { read: () => ({ uri: 'a://x', text: 'x'.repeat(1024) }) }),
      ],
      settings: { maxResultBytes: 1024, maxBinaryBytes: 1024 },
    })
    expect(await read('a://fits')).toHaveLength(1)
    for (const work of [render('long'), read('a://text'), read('a://bytes'), read('a://contents')]) {
      await expect(work).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED', details: { maxBytes: 1024 } })
    }
  })

  it('ends with its time, whatever the definition does', async () => {
    let seen: AbortSignal | undefined
    const read = (_request: unknown, { signal }: { signal: AbortSignal }) => {
      seen = signal
      return new Promise(() => {})
    }
    const { hub, read: readUri } = await openReadFixture({ resources: [simpleResource('a://b', { read } as never)] })
    const failure = failureOf(readUri('a://b'))
    await hub.clock.advance(30_000)
    expect(await failure).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    expect(seen?.aborted).toBe(true)
  })

  it('ends when its caller goes away', async () => {
    const { hub, read } = await openReadFixture({
      resources: [simpleResource('a://b', { read: () => new Promise(() => {}) })],
    })
    const controller = new AbortController()
    const failure = failureOf(read('a://b', { signal: controller.signal }))
    await hub.clock.advance(1)
    controller.abort()
    expect(await failure).toMatchObject({ code: 'CANCELLED' })
    await expect(read('a://b', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('ends when everything stops, and none begins after that', async () => {
    const { hub, read } = await openReadFixture({
      resources: [simpleResource('a://b', { read: () => new Promise(() => {}) })],
    })
    const failure = failureOf(read('a://b'))
    await hub.clock.advance(1)
    hub.readings.stop()
    expect(await failure).toMatchObject({ code: 'STOPPING' })
    await expect(read('a://b')).rejects.toMatchObject({ code: 'STOPPING' })
  })

  it('is in the audit, under its address and without its arguments', async () => {
    const { hub, render, read, stranger } = await openReadFixture({
      prompts: [review],
      resources: [defineResource({ name: 'page', uriTemplate: 'docs://{page}', read: () => 'Page.' })],
    })
    await render('review', { file: 'secret.ts' })
    await render('review').catch(() => {})
    await read('docs://secret')
    await hub.readings.readResource({ session: stranger, uri: 'docs://secret' }).catch(() => {})
    expect(
      hub.audit.map(({ caller, tool, decision, outcome, code }) => [caller.name, tool, decision, outcome, code]),
    ).toEqual([
      ['worker', 'prompt:review', 'allowed', 'succeeded', undefined],
      ['worker', 'prompt:review', 'refused', 'notRun', 'INPUT_INVALID'],
      ['worker', 'resource:docs://{page}', 'allowed', 'succeeded', undefined],
      ['stranger', 'resource:docs://secret', 'refused', 'notRun', 'RESOURCE_NOT_FOUND'],
    ])
    expect(hub.audit.every(({ digest, mutates }) => /^[0-9a-f]{64}$/.test(digest) && !mutates)).toBe(true)
    expect(JSON.stringify(hub.audit.slice(0, 3))).not.toContain('secret')
  })
})

describe('what a reading needs', () => {
  const needing = { requires: ['mail'] }

  it('is looked at again before it is refused', async () => {
    const mail = fakeService('mail', DOWN)
    const { hub, read } = await openReadFixture({ resources: [simpleResource('a://b', needing)], services: [mail] })
    mail.verdict = UP
    expect(await read('a://b')).toHaveLength(1)
    expect(hub.audit).toMatchObject([{ outcome: 'succeeded' }])
  })

  it('is named when it is not there', async () => {
    const mail = fakeService('mail', DOWN, { fix: 'Start it.' })
    const { read } = await openReadFixture({ resources: [simpleResource('a://b', needing)], services: [mail] })
    await expect(read('a://b')).rejects.toMatchObject({
      code: 'DEPENDENCY_UNAVAILABLE',
      message: expect.stringContaining('It needs "mail", which is down'),
      details: { missing: [{ dependency: 'mail', fix: 'Start it.' }] },
    })
  })

  it('is waited for while it recovers', async () => {
    const mail = fakeService('mail', UP)
    const { hub, render } = await openReadFixture({ prompts: [simplePrompt('send', needing)], services: [mail] })
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'connection reset')
    const rendered = render('send')
    await hub.clock.advance(100)
    mail.verdict = UP
    await hub.clock.advance(2_000)
    expect((await rendered).messages).toEqual([user('send')])
  })

  it('took time to come back, so permission is looked at once more', async () => {
    const mail = fakeService('mail', UP)
    const { hub, render } = await openReadFixture({ prompts: [simplePrompt('send', needing)], services: [mail] })
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'connection reset')
    const refused = failureOf(render('send'))
    await hub.clock.advance(100)
    await hub.setAgents({ worker: { capabilities: {} } })
    mail.verdict = UP
    await hub.clock.advance(2_000)
    expect(await refused).toMatchObject({ code: 'PROMPT_NOT_FOUND' })
  })

  it('is announced when reading found it gone', async () => {
    const mail = fakeService('mail', UP)
    const read = () => {
      throw new AppError('DEPENDENCY_UNAVAILABLE', 'connection refused', { details: { dependency: 'mail' } })
    }
    const { hub, read: readUri } = await openReadFixture({
      resources: [simpleResource('a://b', { ...needing, read })],
      services: [mail],
    })
    await expect(readUri('a://b')).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(hub.health.dependency('mail').state).toBe('recovering')
  })
})
