import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { NOTES_ANSWERS, UPDATED, URI } from './testing/notes-answers.ts'
import { stage } from './testing/upstreams-fixture.ts'

const versionOf = ({ headers }: Visit) => String(headers['x-version'])

/** What an exchange of either era says about who hears of the note. */
function wishIn({ body: { method, params } }: Visit): boolean | undefined {
  const { notifications } = (params ?? {}) as { notifications?: { resourceSubscriptions?: string[] } }
  if (method === 'subscriptions/listen') return notifications?.resourceSubscriptions?.includes(URI) ?? false
  return method === 'resources/subscribe' ? true : method === 'resources/unsubscribe' ? false : undefined
}

/** A server with a note, which tells of it to those who are subscribed over a stream that is open. They are known by a header. */
async function notesServer() {
  const streams = new Map<string, Visit & { write(text: string): void }>()
  const subscribed = new Set<string>()
  const server = await httpEndpoint(visit => {
    const version = versionOf(visit)
    const wish = wishIn(visit)
    if (wish !== undefined) subscribed[wish ? 'add' : 'delete'](version)
    if (visit.method !== 'GET' && visit.body.method !== 'subscriptions/listen')
      return answerLegacy(visit, NOTES_ANSWERS)
    const stream = { ...visit, write: visit.events() }
    streams.set(version, stream)
    visit.response.on('close', () => streams.get(version) === stream && streams.delete(version))
  })
  const listeners = () => [...streams.keys()].filter(version => subscribed.has(version))
  const change = () => {
    for (const version of listeners()) streams.get(version)?.write(UPDATED)
  }
  const breakOff = () => {
    for (const { response } of streams.values()) response.end()
  }
  const entryFor = (version: string, more: object) =>
    UpstreamConfig.parse({ url: server.url, headers: { 'X-Version': version }, ...more })
  return { entryFor, listeners, change, breakOff }
}

/** Somebody is subscribed to the note of a server that is started for that alone. */
async function subscribedTo(more: object) {
  const desk = await stage()
  const { entryFor, listeners, change, breakOff } = await notesServer()
  const configure = (version: string) => desk.configure({ notes: entryFor(version, { start: 'lazy', ...more }) })
  const state = () => desk.status('notes')?.state
  await configure('1')
  await expect.poll(state).toMatch(/up|idle/)
  await expect.poll(async () => (await desk.units())[0]?.definitions.capabilities?.[0]?.resources).toHaveLength(1)
  const resource = (await desk.units())[0]?.definitions.capabilities?.[0]?.resources?.[0]
  const heard: string[] = []
  const watch = (onUpdated: () => void = () => heard.push(URI)) =>
    resource?.watch?.(URI, onUpdated, { caller: { name: 'ada' } } as never) as () => void
  const stop = watch()
  await expect.poll(listeners).toEqual(['1'])
  return { ...desk, configure, state, listeners, change, breakOff, heard, watch, stop }
}

const KINDS = (['legacy', 'modern'] as const).flatMap(era =>
  (['shared', 'perAgent'] as const).map(connection => ({ era, connection })),
)

describe.each(KINDS)('whoever is subscribed at an upstream whose entry is changed ($era, $connection)', kind => {
  it('hears of changes from the one in its place, and the one before ends', async () => {
    const { configure, listeners, change, heard } = await subscribedTo(kind)
    await configure('2')
    await expect.poll(listeners).toEqual(['2'])
    const before = heard.length
    change()
    await expect.poll(() => heard.length).toBeGreaterThan(before)
    await configure('3')
    await expect.poll(listeners).toEqual(['3'])
  })

  it('is told once that what is there may be another, because nobody has told what happened in between', async () => {
    const { configure, listeners, heard } = await subscribedTo(kind)
    const before = heard.length
    await configure('2')
    await expect.poll(listeners).toEqual(['2'])
    expect(heard).toHaveLength(before + 1)
  })

  it('lets the one in its place sleep by unsubscribing', async () => {
    const { configure, state, listeners, stop } = await subscribedTo({ ...kind, idleSeconds: 1 })
    await configure('2')
    await expect.poll(listeners).toEqual(['2'])
    stop()
    await expect.poll(listeners).toEqual([])
    await expect.poll(state).toBe('idle')
  })

  it('may subscribe by what was shown of the one before', async () => {
    const { configure, listeners, watch, stop, change, heard } = await subscribedTo(kind)
    await configure('2')
    await expect.poll(listeners).toEqual(['2'])
    stop()
    await expect.poll(listeners).toEqual([])
    watch()
    await expect.poll(listeners).toEqual(['2'])
    const before = heard.length
    change()
    await expect.poll(() => heard.length).toBeGreaterThan(before)
  })
})

it('tells whoever is subscribed that something may have changed while the stream of a server was not there', async () => {
  const { breakOff, listeners, heard, change } = await subscribedTo({ era: 'legacy' })
  const before = heard.length
  breakOff()
  await expect.poll(listeners).toEqual([])
  change()
  await expect.poll(() => heard.length).toBe(before + 1)
  await expect.poll(listeners).toEqual(['1'])
})

it('tells whoever is subscribed that what is there may be another after a restart', async () => {
  const { upstreams, listeners, heard } = await subscribedTo({ era: 'legacy' })
  const before = heard.length
  await upstreams.restart('notes')
  await expect.poll(() => heard.length).toBe(before + 1)
  await expect.poll(listeners).toEqual(['1'])
})

it('comes up, and tells all others, where somebody who is subscribed fails at what it hears', async () => {
  const { upstreams, watch, listeners, heard, status } = await subscribedTo({ era: 'legacy' })
  watch(() => {
    throw new Error('The client is gone.')
  })
  watch()
  heard.length = 0
  await upstreams.restart('notes')
  await expect.poll(() => heard).toHaveLength(2)
  await expect.poll(listeners).toEqual(['1'])
  expect(status('notes')).toMatchObject({ state: 'up', restarts: 0 })
})
