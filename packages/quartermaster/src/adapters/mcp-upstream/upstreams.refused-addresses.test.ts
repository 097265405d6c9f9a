import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { NOTES_ANSWERS, noticeOf } from './testing/notes-answers.ts'
import { stage } from './testing/upstreams-fixture.ts'

const ONE = 'n://1'
const TWO = 'n://2'

/** A server of 2026-07-28 that lists two notes. It refuses a stream that names one that it does not have, as a whole. */
async function notesServer() {
  const has = new Set([ONE, TWO])
  const streams = new Map<Visit, { readonly uris: readonly string[]; write(text: string): void }>()
  const { url } = await httpEndpoint(visit => {
    const { method, id, params } = visit.body
    if (method !== 'subscriptions/listen')
      return answerLegacy(visit, {
        ...NOTES_ANSWERS,
        'resources/list': () => ({ resources: [ONE, TWO].map(uri => ({ uri, name: uri.slice(-1) })) }),
      })
    const { notifications } = params as { notifications: { resourceSubscriptions?: string[] } }
    const { resourceSubscriptions: uris = [] } = notifications
    const gone = uris.find(uri => !has.has(uri))
    if (gone !== undefined)
      return visit.json(200, { jsonrpc: '2.0', id, error: { code: -32_602, message: `There is no ${gone}.` } })
    const write = visit.events()
    streams.set(visit, { uris, write })
    visit.response.on('close', () => streams.delete(visit))
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
    write(noticeOf('subscriptions/acknowledged', { notifications, _meta }))
  })
  const told = () => [...streams.values()].map(({ uris }) => uris)
  const change = (uri: string) => {
    for (const { uris, write } of streams.values())
      if (uris.includes(uri)) write(noticeOf('resources/updated', { uri }))
  }
  return { url, has, told, change }
}

/** Ada is subscribed to one note, and Bob to the other. */
async function twoSubscribers() {
  const { upstreams, configure, isUp, units } = await stage()
  const server = await notesServer()
  await configure({ notes: UpstreamConfig.parse({ url: server.url, era: 'modern' }) })
  await isUp('notes')
  const resources = async () => (await units())[0]?.definitions.capabilities?.[0]?.resources ?? []
  await expect.poll(resources).toHaveLength(2)
  const [one, two] = await resources()
  const heard: string[] = []
  const subscribe = (name: string) => ({ caller: { name } }) as never
  one?.watch?.(ONE, () => heard.push('ada'), subscribe('ada'))
  two?.watch?.(TWO, () => heard.push('bob'), subscribe('bob'))
  const lines = () => upstreams.logs('notes', { limit: 50 }).map(({ text }) => text)
  return { ...server, upstreams, heard, lines }
}

it('tells of every other note after a restart where one is gone that somebody is subscribed to, and says which', async () => {
  const { upstreams, has, told, change, heard, lines } = await twoSubscribers()
  await expect.poll(told).toEqual([[ONE, TWO]])
  has.delete(TWO)
  await upstreams.restart('notes')
  await expect.poll(told).toEqual([[ONE]])
  await expect.poll(lines).toContain(`Nothing is heard of changes at "${TWO}": There is no ${TWO}.`)
  expect(lines().filter(line => line.includes('hear') || line.includes('tell'))).toHaveLength(1)
  const before = heard.length
  change(ONE)
  await expect.poll(() => heard.slice(before)).toContain('ada')
})
