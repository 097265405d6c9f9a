import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { openInboxes } from '../../testing/inbox-fixture.ts'

interface Said {
  readonly messages: readonly { readonly text: string; readonly direction: string; readonly created_at: string }[]
  readonly before_ts: string | null
  readonly note?: string
}

async function talked(...texts: readonly string[]) {
  const at = await openInboxes()
  const { ada, bob, cleo } = await at.workspaces('ada', 'bob', 'cleo')
  for (const text of texts) await at.say(ada, bob, text)
  const history = async (input: object = {}) =>
    (await at.call(bob, 'chat_history', { peer_id: ada.id, ...input })).data as unknown as Said
  return { ...at, ada, bob, cleo, history }
}

const textsIn = ({ messages }: Said) => messages.map(({ text }) => text)
const invalid = { code: 'INPUT_INVALID' }

describe('chat_history', () => {
  it.each([0, -1, 1.5, Number.NaN, '5'])('has no use for a limit of %s', async limit => {
    const { history } = await talked('one')
    await expect(history({ limit })).rejects.toMatchObject(invalid)
  })

  it('lowers a limit above its cap, and says so', async () => {
    const { history } = await talked('one')
    const said = await history({ limit: 1_000_000_000 })
    expect(textsIn(said)).toEqual(['one'])
    expect(said.note).toBe('"limit" was lowered from 1000000000 to 500, the most that one answer has.')
  })

  it('goes back without a gap or a repeat, by its own place and by the time of the oldest, when much has one time', async () => {
    const { history, say, ada, bob, clock } = await talked('1', '2')
    await clock.advance(1)
    for (const text of ['3', '4', '5']) await say(ada, bob, text)
    await clock.advance(1)
    await say(bob, ada, '6')
    const newest = await history({ limit: 2 })
    expect(textsIn(newest)).toEqual(['3', '4', '5', '6'])
    for (const before_ts of [newest.before_ts, newest.messages[0]?.created_at]) {
      const rest = await history({ limit: 1, before_ts })
      expect([textsIn(rest), rest.before_ts]).toEqual([['1', '2'], null])
    }
  })

  it.each(['people', 'platform'])(
    'is that of a peer named %s where there is one, and else what that means',
    async name => {
      const { call, ada, workspaces, messages } = await talked()
      await messages.sending.toPeople(ada, { text: 'to all' })
      const said = async (by = ada) =>
        textsIn((await call(by, 'chat_history', { peer_id: name })).data as unknown as Said)
      const toAll = name === 'people' ? ['to all'] : []
      expect(await said()).toEqual(toAll)
      const named = (await workspaces(name))[name]
      if (!named) throw new Error(`There is no "${name}".`)
      await messages.sending.toPeer(ada, name, { text: 'to one' })
      expect(await said()).toEqual(['to one'])
      // Nobody talks to themselves, so that it has the other meaning for the one that is called so.
      expect(await said(named)).toEqual([])
    },
  )

  it('is what was said with one peer, by its id or name, and with whom nothing was said it is empty', async () => {
    const { history, say, cleo, ada, call, bob } = await talked('one')
    await say(cleo, ada, 'not for bob')
    for (const peer_id of [ada.id, 'ada']) expect(textsIn(await history({ peer_id }))).toEqual(['one'])
    const nothing = { messages: [], before_ts: null }
    for (const peer_id of [cleo.id, 'cleo', 'person:mia']) expect(await history({ peer_id })).toEqual(nothing)
    expect((await call(bob, 'chat_history', { peer_id: cleo.id })).text).toBe('Nothing was said.')
    expect((await history({ before_ts: '2020-01-01T00:00:00Z' })).messages).toEqual([])
    expect(textsIn(await history({ before_ts: '9999-12-31T23:59:59Z' }))).toEqual(['one'])
  })

  it('says who may have been meant by a name that nobody has, and tells no stranger from nobody', async () => {
    const { history, organisation, ada, bob } = await talked('one')
    const { id } = await organisation.workspaces.create(bob.organisation, { name: 'below', parent: ada.id })
    const refusal = async (peer_id: string) => {
      const error = await history({ peer_id }).catch((thrown: unknown) => thrown)
      return error instanceof AppError ? [error.code, error.message.replace(`"${peer_id}"`, 'IT')] : error
    }
    const said = 'There is no peer IT that this workspace can reach. List your peers and take one of those.'
    for (const peer_id of ['ws_nobody', id, 'below']) expect(await refusal(peer_id)).toEqual(['PEER_NOT_FOUND', said])
    expect((await refusal('clea')) as unknown[]).toContainEqual(expect.stringContaining('Did you mean "cleo"?'))
    for (const peer_id of [bob.id, 'bob']) await expect(history({ peer_id })).rejects.toMatchObject(invalid)
  })

  it('goes on with what was said to somebody who is out of reach by now, and to a person by name', async () => {
    const { history, organisation, messages, ada, bob } = await talked('one')
    await messages.sending.fromPerson('mia', bob, { text: 'hello' })
    await organisation.workspaces.archive(ada.organisation, ada.id)
    expect(textsIn(await history({ peer_id: 'ada' }))).toEqual(['one'])
    expect(textsIn(await history({ peer_id: 'mia' }))).toEqual(['hello'])
  })

  it('begins before a time that is more exact than messages are, and loses nothing', async () => {
    const { history, say, ada, bob, clock } = await talked('first')
    const at = new Date(clock.now())
    await clock.advance(1)
    await say(ada, bob, 'second')
    const before = async (digits: string) =>
      textsIn(await history({ before_ts: at.toISOString().replace('Z', `${digits}Z`) }))
    expect([await before('000000'), await before('5'), await before('000001')]).toEqual([[], ['first'], ['first']])
    const later = await history({ before_ts: new Date(clock.now()).toISOString().replace('Z', '999999Z') })
    expect(textsIn(later)).toEqual(['first', 'second'])
  })
})
