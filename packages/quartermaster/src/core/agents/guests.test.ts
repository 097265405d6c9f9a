import { expect, it } from 'vitest'
import { createHub } from '../../testing/hub.ts'

it('gives a guest one seat for as long as it is there, and keeps none of those who have left', async () => {
  const there = new Set(['ada', 'bob'])
  let tellLeft = () => {}
  const hub = await createHub({
    guests: {
      has: ({ workspace }) => there.has(workspace),
      hasJoined: () => false,
      onLeft: listener => void (tellLeft = listener),
    },
  })
  const seatOf = (workspace: string) => hub.agents.seatOf({ organisation: 'acme', workspace })
  const [ada, bob] = [seatOf('ada'), seatOf('bob')]
  expect(seatOf('ada')).toBe(ada)
  there.delete('ada')
  tellLeft()
  expect(seatOf('ada')).toBeUndefined()
  there.add('ada')
  expect(seatOf('ada')).not.toBe(ada)
  expect(seatOf('bob')).toBe(bob)
})
