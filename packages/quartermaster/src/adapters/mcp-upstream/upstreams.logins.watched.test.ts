import { describe, expect, it, vi } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import type { Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { NOTES_ANSWERS, noticeOf, UPDATED, URI } from './testing/notes-answers.ts'
import { oauthPlace } from './testing/oauth-fixture.ts'
import { SIGNAL, stage } from './testing/upstreams-fixture.ts'

const LISTS_CHANGED = noticeOf('tools/list_changed')

interface Stream {
  /** By which token it was opened. */
  readonly who: string
  isSubscribed(): boolean
  write(text: string): void
}

const whoIn = ({ headers }: Visit) => String(headers.authorization).replace('Bearer ', '')
const sessionIn = ({ headers }: Visit) => String(headers['mcp-session-id'])

/** A server with a note for each person, which tells each of changes in theirs, over streams that they have opened. */
async function notesServer() {
  const streams = new Set<Stream>()
  /** Sessions of the older era. */
  const subscribed = new Set<string>()
  const calling = deferred<Visit>()
  const lists = new Map<string, number>()
  let sessions = 0
  const place = await oauthPlace({ takes: token => token.startsWith('access-'), serve })

  function serve(visit: Visit): void {
    const { method, params } = visit.body
    if (visit.method === 'GET') return listen(visit, () => subscribed.has(sessionIn(visit)))
    if (method === 'subscriptions/listen') {
      const { notifications } = params as { notifications: { resourceSubscriptions?: string[] } }
      return listen(visit, () => notifications.resourceSubscriptions?.includes(URI) === true)
    }
    if (method === 'tools/call') return calling.resolve(visit)
    if (method === 'tools/list') lists.set(whoIn(visit), (lists.get(whoIn(visit)) ?? 0) + 1)
    if (method === 'resources/subscribe') subscribed.add(sessionIn(visit))
    if (method === 'resources/unsubscribe') subscribed.delete(sessionIn(visit))
    const headers = method === 'initialize' ? { 'mcp-session-id': `${++sessions}` } : {}
    answerLegacy({ ...visit, result: result => visit.result(result, headers) }, NOTES_ANSWERS)
  }

  function listen(visit: Visit, isSubscribed: () => boolean): void {
    const stream = { who: whoIn(visit), isSubscribed, write: visit.events() }
    streams.add(stream)
    visit.response.on('close', () => streams.delete(stream))
  }

  const heardBy = (isMeant: (stream: Stream) => boolean) => [
    ...new Set([...streams].filter(isMeant).map(({ who }) => who)),
  ]
  const change = (who: string) => {
    for (const stream of streams) if (stream.who === who && stream.isSubscribed()) stream.write(UPDATED)
  }
  const tell = (who: string, ...notices: string[]) => {
    for (const stream of streams) if (stream.who === who) for (const notice of notices) stream.write(notice)
  }
  return {
    place,
    change,
    /** Says this to whoever listens by this token. */
    tell,
    /** How often it was asked by this token what tools there are. */
    listed: (who: string) => lists.get(who) ?? 0,
    calling,
    /** Whose streams are open. */
    streams: () => heardBy(() => true).toSorted(),
    /** Who would be told of a change. */
    listeners: () => heardBy(({ isSubscribed }) => isSubscribed()).toSorted(),
  }
}

/** These have signed in, one after the other, so that they have the tokens `access-1`, `access-2` and so on. */
async function signedIn({
  agents,
  removed = new Set(),
  ...entry
}: {
  era: string
  agents: readonly (string | undefined)[]
  removed?: ReadonlySet<string>
  idleSeconds?: number
}) {
  const server = await notesServer()
  const { place } = server
  const desk = await stage({ removed })
  const owner = (agent: string | undefined) => ({ upstream: 'notes', ...(agent === undefined ? {} : { agent }) })
  const signIn = async (agent?: string) => {
    const attempt = await desk.auth.begin(owner(agent), place.upstream)
    await attempt.take(place.approve(attempt.url))
    await desk.upstreams.loginChanged(owner(agent))
  }
  const signOut = async (agent?: string) => {
    await desk.auth.forget(owner(agent))
    await desk.upstreams.loginChanged(owner(agent))
  }
  await desk.configure({ notes: UpstreamConfig.parse({ url: place.upstream.url, ...entry }) })
  for (const agent of agents) await signIn(agent)
  await desk.isUp('notes')
  const capability = async () => (await desk.units())[0]?.definitions.capabilities?.[0]
  await expect.poll(async () => (await capability())?.resources).toHaveLength(1)
  const shown = await capability()
  const heard: string[] = []
  const watch = (agent: string) =>
    shown?.resources?.[0]?.watch?.(URI, () => heard.push(agent), { caller: { name: agent } } as never) as () => void
  const call = async (agent: string) => {
    const context = { caller: { name: agent }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
    return shown?.tools[0]?.handler({} as never, context as never)
  }
  return { ...desk, ...server, signIn, signOut, heard, watch, call }
}

describe.each(['legacy', 'modern'])('at a server at which only an agent has signed in (%s)', era => {
  const adaAlone = async (removed = new Set<string>()) => {
    const desk = await signedIn({ era, agents: ['ada'], removed })
    desk.watch('ada')
    await expect.poll(desk.listeners).toEqual(['access-1'])
    return desk
  }

  it('nothing more is heard with its login once it has signed out, and somebody has to sign in', async () => {
    const { signOut, streams, status } = await adaAlone()
    await signOut('ada')
    await expect.poll(streams).toEqual([])
    await expect.poll(() => status('notes')?.state).toBe('needsLogin')
  })

  it('its login is used no more once it is removed, and again when it is there again', async () => {
    const removed = new Set<string>()
    const { upstreams, streams, status } = await adaAlone(removed)
    removed.add('ada')
    await upstreams.loginChanged({ upstream: 'notes', agent: 'ada' })
    await expect.poll(() => status('notes')?.state).toBe('needsLogin')
    await upstreams.restart('notes')
    await expect.poll(() => status('notes')?.state).toBe('needsLogin')
    removed.clear()
    await upstreams.loginChanged({ upstream: 'notes', agent: 'ada' })
    await expect.poll(() => status('notes')?.state).toBe('up')
    await expect.poll(streams).toEqual(['access-1'])
  })

  it('nothing more is heard with its login then, also where it cannot be read who is signed in now', async () => {
    const { auth, signOut, streams } = await adaAlone()
    vi.spyOn(auth, 'agentsAt').mockRejectedValueOnce(new Error('The disk is gone.'))
    await expect(signOut('ada')).rejects.toThrow('The disk is gone.')
    await expect.poll(streams).toEqual([])
  })

  it('everything is heard with the login of whoever signs in for it next, which its subscribers are told', async () => {
    const { signIn, streams, listeners, heard, change } = await adaAlone()
    const before = heard.length
    await signIn('ada')
    await expect.poll(streams).toEqual(['access-2'])
    await expect.poll(listeners).toEqual(['access-2'])
    // Where the server takes its time to subscribe, they are told of that too.
    await expect.poll(() => heard.length).toBeGreaterThan(before)
    const told = heard.length
    change('access-2')
    await expect.poll(() => heard.length).toBeGreaterThan(told)
  })

  it('the server is known by the login of another agent once that one has signed out', async () => {
    const { signIn, signOut, streams, status } = await adaAlone()
    await signIn('bob')
    await signOut('ada')
    await expect.poll(streams).toEqual(['access-2'])
    await expect.poll(() => status('notes')?.state).toBe('up')
  })
})

describe.each(['legacy', 'modern'])('whoever is subscribed (%s)', era => {
  it('hears of changes by its own login where it has one, and otherwise by the one of all', async () => {
    const { watch, listeners, change, heard } = await signedIn({ era, agents: [undefined, 'ada'] })
    for (const agent of ['ada', 'bob']) watch(agent)
    await expect.poll(listeners).toEqual(['access-1', 'access-2'])
    heard.length = 0
    change('access-1')
    await expect.poll(() => heard).toEqual(['bob'])
    change('access-2')
    await expect.poll(() => heard).toEqual(['bob', 'ada'])
  })

  it('keeps its own connection for as long as it is subscribed, and others end when they are not used', async () => {
    const { watch, call, calling, listeners, streams } = await signedIn({
      era,
      agents: [undefined, 'ada', 'bob'],
      idleSeconds: 1,
    })
    const stop = watch('ada')
    await expect.poll(listeners).toEqual(['access-2'])
    const called = call('bob')
    answerLegacy(await calling.promise)
    await called
    await expect.poll(streams).toEqual(['access-2'])
    stop()
    await expect.poll(streams).toEqual([])
  })

  it('goes over to its own login when it signs in, and back when it signs out, and is told each time', async () => {
    const { watch, signIn, signOut, listeners, heard } = await signedIn({ era, agents: [undefined] })
    watch('ada')
    await expect.poll(listeners).toEqual(['access-1'])
    const before = heard.length
    await signIn('ada')
    await expect.poll(listeners).toEqual(['access-2'])
    await expect.poll(() => heard.length).toBeGreaterThan(before)
    const told = heard.length
    await signOut('ada')
    await expect.poll(listeners).toEqual(['access-1'])
    await expect.poll(() => heard.length).toBeGreaterThan(told)
  })

  it('hears nothing more by a login that is forgotten while a call is still under way with it, which may end', async () => {
    const { watch, call, calling, signOut, listeners, streams, heard } = await signedIn({ era, agents: [undefined] })
    watch('ada')
    await expect.poll(listeners).toEqual(['access-1'])
    const called = call('ada')
    const visit = await calling.promise
    const before = heard.length
    await signOut()
    await expect.poll(streams).toEqual([])
    answerLegacy(visit)
    expect(await called).toMatchObject({ content: [{ text: '3 issues' }] })
    expect(heard).toHaveLength(before)
  })

  it('hears of changes by the login of all once its own was forgotten elsewhere, and the server is started anew', async () => {
    const { auth, upstreams, watch, listeners, change, heard } = await signedIn({ era, agents: [undefined, 'ada'] })
    watch('ada')
    await expect.poll(listeners).toEqual(['access-2'])
    await auth.forget({ upstream: 'notes', agent: 'ada' })
    await upstreams.restart('notes')
    await expect.poll(listeners).toEqual(['access-1'])
    heard.length = 0
    change('access-1')
    await expect.poll(() => heard).toEqual(['ada'])
  })

  it('has nothing looked at again for what is told on a connection that is left for a call under way', async () => {
    const desk = await signedIn({ era, agents: [undefined, 'ada'] })
    const { watch, call, calling, signIn, listeners, streams, tell, listed, upstreams } = desk
    watch('ada')
    await expect.poll(listeners).toEqual(['access-2'])
    const called = call('ada')
    const visit = await calling.promise
    await signIn('ada')
    await expect.poll(streams).toEqual(['access-1', 'access-2', 'access-3'])
    // It tells of changes before it is asked what it has.
    await expect.poll(() => listed('access-3')).toBeGreaterThan(0)
    const before = [listed('access-1'), listed('access-3')] as const
    tell('access-2', LISTS_CHANGED, noticeOf('message', { level: 'info', data: 'There are more tools.' }))
    await expect
      .poll(() => upstreams.logs('notes', { limit: 5 }).map(line => line.text))
      .toContain('info: There are more tools.')
    // What would be looked at for the first is asked for before what is looked at for the second.
    tell('access-1', LISTS_CHANGED)
    await expect.poll(() => listed('access-1')).toBe(before[0] + 1)
    expect(listed('access-3')).toBe(before[1])
    answerLegacy(visit)
    await called
  })
})

it.each(['legacy', 'modern'])(
  'agents share a connection again once all are signed in, after one was alone (%s)',
  async era => {
    const { watch, listeners, status } = await signedIn({ era, agents: ['ada', undefined] })
    for (const agent of ['bob', 'cy']) watch(agent)
    await expect.poll(listeners).toEqual(['access-2'])
    expect(status('notes')?.connections).toBe(1)
  },
)
