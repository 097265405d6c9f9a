import { describe, expect, it } from 'vitest'
import { definePrompt, defineResource } from '../../core/catalogue/index.ts'
import {
  createHub,
  DOWN,
  fakeService,
  simpleCapability,
  simplePrompt,
  simpleResource,
  simpleTool,
  UP,
} from '../../testing/hub.ts'
import { connect, ERAS, frontOf } from './testing/front.ts'

const review = definePrompt({
  name: 'review',
  short: 'Asks for a review.',
  arguments: [
    {
      name: 'language',
      required: true,
      suggest: value => ['go', 'python', 'perl'].filter(one => one.startsWith(value)),
    },
    { name: 'tone' },
  ],
  render: ({ language, tone = 'kind' }) => `Review this ${language} code, and be ${tone}.`,
})
const letter = definePrompt({
  name: 'letter',
  short: 'Begins a letter.',
  async render(_args, { ask }) {
    const { content } = await ask({ key: 'whom', message: 'To whom?' })
    return `Write to ${content?.name}.`
  },
})
const page = defineResource({
  name: 'page',
  uriTemplate: 'docs://pages/{id}',
  mimeType: 'text/plain',
  suggest: { id: () => ['one', 'two'] },
  read: ({ params: { id } }) => `Page ${id}.`,
})
const bytes = defineResource({ name: 'bytes', uri: 'docs://bytes', read: () => new Uint8Array([1, 2, 3]) })

async function open() {
  const press = fakeService('press', UP)
  const capability = (text = 'A handbook.') =>
    simpleCapability('docs', [simpleTool('print')], {
      prompts: [review, letter, simplePrompt('printed', { requires: ['press'] })],
      resources: [
        page,
        bytes,
        simpleResource('docs://handbook', { short: text }),
        simpleResource('docs://news', { requires: ['press'] }),
      ],
    })
  const unit = (text?: string) => ({ capabilities: [capability(text)], dependencies: [press.dependency] })
  const hub = await createHub({
    units: { 'docs.ts': unit(), 'other.ts': { capabilities: [simpleCapability('other', [simpleTool('elsewhere')])] } },
    agents: { reader: { capabilities: { docs: {} } }, stranger: { capabilities: { other: {} } } },
    settings: { recoveringSeconds: 0 },
  })
  await hub.health.probeNew()
  return { hub, front: frontOf(hub), press, unit }
}

describe.each(ERAS)('a client of the era %s', era => {
  it('lists the prompts of its agent and has them filled in', async () => {
    const { front } = await open()
    const client = await connect(front, 'reader', era)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(prompt => prompt.name)).toEqual(['review', 'letter', 'printed'])
    expect(prompts[0]).toMatchObject({
      title: 'Review',
      description: 'Asks for a review.',
      arguments: [
        { name: 'language', required: true },
        { name: 'tone', required: false },
      ],
    })
    const { messages } = await client.getPrompt({ name: 'review', arguments: { language: 'go' } })
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Review this go code, and be kind.' } }])
    await expect(client.getPrompt({ name: 'review' })).rejects.toThrow('language')
  })

  it('is helped to type', async () => {
    const { front } = await open()
    const client = await connect(front, 'reader', era)
    const complete = (
      ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
      name: string,
    ) => client.complete({ ref, argument: { name, value: 'p' } })
    expect(await complete({ type: 'ref/prompt', name: 'review' }, 'language')).toMatchObject({
      completion: { values: ['python', 'perl'], hasMore: false },
    })
    expect(await complete({ type: 'ref/resource', uri: 'docs://pages/{id}' }, 'id')).toMatchObject({
      completion: { values: ['one', 'two'] },
    })
    expect(await complete({ type: 'ref/prompt', name: 'review' }, 'tone')).toMatchObject({ completion: { values: [] } })
  })

  it('is asked while a prompt is filled in', async () => {
    const { front } = await open()
    const client = await connect(front, 'reader', era, { capabilities: { elicitation: { form: {} } } })
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
    expect((await client.getPrompt({ name: 'letter' })).messages).toMatchObject([
      { content: { text: 'Write to Ada.' } },
    ])
    const mute = await connect(front, 'reader', era)
    await expect(mute.getPrompt({ name: 'letter' })).rejects.toThrow('To whom?')
  })

  it('reads what its agent may read: at an address, by a template, and the page of each tool', async () => {
    const { front } = await open()
    const client = await connect(front, 'reader', era)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual([
      'quartermaster://tools/print',
      'docs://bytes',
      'docs://handbook',
      'docs://news',
    ])
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain('docs://pages/{id}')
    const read = async (uri: string) => (await client.readResource({ uri })).contents
    expect(await read('docs://pages/7')).toEqual([{ uri: 'docs://pages/7', mimeType: 'text/plain', text: 'Page 7.' }])
    expect(await read('docs://bytes')).toMatchObject([{ uri: 'docs://bytes', blob: 'AQID' }])
    expect(await read('quartermaster://tools/print')).toMatchObject([{ text: expect.stringContaining('`print`') }])
  })

  it('finds nothing that is another agent’s', async () => {
    const { front } = await open()
    const client = await connect(front, 'stranger', era)
    expect((await client.listPrompts()).prompts).toEqual([])
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['quartermaster://tools/elsewhere'])
    await expect(client.getPrompt({ name: 'review', arguments: { language: 'go' } })).rejects.toThrow(
      'no prompt "review"',
    )
    await expect(client.readResource({ uri: 'docs://handbook' })).rejects.toThrow()
    await expect(client.readResource({ uri: 'quartermaster://tools/print' })).rejects.toThrow()
  })

  it('hears of prompts that go with what they need, and nobody else does', async () => {
    const { hub, front, press } = await open()
    const news = { reader: 0, stranger: 0 }
    const listen = (agent: keyof typeof news) =>
      connect(front, agent, era, { listChanged: { prompts: { onChanged: () => void news[agent]++ } } })
    const client = await listen('reader')
    await listen('stranger')
    press.verdict = DOWN
    hub.health.reportFailure('press', 'gone')
    await hub.clock.advance(10)
    await expect.poll(() => news.reader).toBe(1)
    expect((await client.listPrompts()).prompts.map(prompt => prompt.name)).toEqual(['review', 'letter'])
    expect(news.stranger).toBe(0)
  })
})

it('tells a session which of the resources it watches has changed', async () => {
  const { hub, front, unit } = await open()
  const client = await connect(front, 'reader', 'legacy')
  const updated: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri))
  await client.subscribeResource({ uri: 'docs://handbook' })
  await client.subscribeResource({ uri: 'docs://bytes' })
  await client.unsubscribeResource({ uri: 'docs://bytes' })
  hub.write('docs.ts', unit('A better handbook.'))
  await hub.catalogue.reload()
  await hub.clock.advance(10)
  await expect.poll(() => updated).toEqual(['docs://handbook'])
})
