import { expect, it } from 'vitest'
import type { WorkspaceRow } from '../../contracts/index.ts'
import { openDelegations } from '../../testing/delegation-fixture.ts'

async function openTalk(delegationTurns: number) {
  const desk = await openDelegations({ settings: { delegationTurns } })
  const { ada, bob, cid } = await desk.workspaces('ada', 'bob', 'cid')

  /** A task that is answered before anybody gives the next one. */
  async function turn(from: WorkspaceRow, to: WorkspaceRow): Promise<void> {
    await desk.clock.advance(1_000)
    const { id } = await desk.ask(from, to)
    await desk.delegations.reply(to, id, { message: 'done' })
  }
  return { ...desk, ada, bob, cid, turn }
}

it('ends two agents that answer each task with a new one, and lets them go on an hour later', async () => {
  const { turn, ada, bob, clock } = await openTalk(4)
  for (const [from, to] of [[ada, bob] as const, [bob, ada] as const, [ada, bob] as const, [bob, ada] as const])
    await turn(from, to)
  await expect(turn(ada, bob)).rejects.toMatchObject({
    code: 'DELEGATION_LOOP',
    message: expect.stringContaining('"bob" have delegated to each other in turn 4 times within an hour'),
    details: { limit: 4 },
  })
  // Whose turn it was may give more of the same; a turn is a change of sides.
  await turn(bob, ada)
  await clock.advance(3_600_000)
  await turn(ada, bob)
})

it('has nothing against many tasks in one direction, nor against others', async () => {
  const { turn, ada, bob, cid } = await openTalk(4)
  for (let i = 0; i < 10; i++) await turn(ada, bob)
  for (let i = 0; i < 10; i++) await turn(bob, ada)
  await turn(ada, bob)
  await turn(bob, ada)
  await expect(turn(ada, bob)).rejects.toMatchObject({ code: 'DELEGATION_LOOP' })
  await turn(ada, cid)
})
