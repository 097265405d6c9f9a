import { describe, expect, it } from 'vitest'
import { openInboxes } from '../../testing/inbox-desk.ts'

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

  it('is what was said with one peer: a stranger’s is as empty as nobody’s', async () => {
    const { history, say, cleo, ada, call, bob } = await talked('one')
    await say(cleo, ada, 'not for bob')
    const nothing = { messages: [], before_ts: null }
    for (const peer_id of [cleo.id, 'ws_nobody', bob.id]) expect(await history({ peer_id })).toEqual(nothing)
    expect((await call(bob, 'chat_history', { peer_id: cleo.id })).text).toBe('Nothing was said.')
    expect((await history({ before_ts: '2020-01-01T00:00:00Z' })).messages).toEqual([])
    expect(textsIn(await history({ before_ts: '9999-12-31T23:59:59Z' }))).toEqual(['one'])
  })
})
