import { expect, it } from 'vitest'
import { createSlowStart, type Turn, type TurnEnd } from './retry-slow-start.ts'

const settled = () => new Promise(resolve => void setImmediate(resolve))

/** A slowStart, and who has entered it, in order. */
function stage() {
  const slowStart = createSlowStart()
  const turns: Turn[] = []
  const entered: string[] = []
  const enter = (name: string, signal = new AbortController().signal) =>
    slowStart.enter(signal).then(turn => {
      entered.push(turn ? name : `${name} gave up`)
      if (turn) turns.push(turn)
    })
  /** Ends the turn of whoever has it for longest. */
  const end = async (how: TurnEnd) => {
    await settled()
    turns.shift()?.end(how)
    await settled()
  }
  return { enter, end, entered, turns }
}

it('lets in one, and twice as many with each that is answered', async () => {
  const { enter, end, entered } = stage()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) void enter(name)
  await end('answered')
  expect(entered).toEqual(['a', 'b', 'c'])
  await end('answered')
  expect(entered).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})

it('lets in one at a time again when the connection breaks', async () => {
  const { enter, end, entered } = stage()
  for (const name of ['a', 'b', 'c', 'd', 'e']) void enter(name)
  await end('answered')
  await end('broken')
  expect(entered).toEqual(['a', 'b', 'c'])
  await end('broken')
  expect(entered).toEqual(['a', 'b', 'c', 'd'])
})

it('lets in as many as before when one was neither answered nor broke the connection', async () => {
  const { enter, end, entered } = stage()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) void enter(name)
  await end('neither')
  expect(entered).toEqual(['a', 'b'])
  await end('answered')
  expect(entered).toEqual(['a', 'b', 'c', 'd'])
  await end('neither')
  expect(entered).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('takes the end of a turn for one, however often it is told', async () => {
  const { enter, end, entered, turns } = stage()
  for (const name of ['a', 'b', 'c', 'd']) void enter(name)
  await settled()
  const [first] = turns
  await end('neither')
  first?.end('answered')
  await settled()
  expect(entered).toEqual(['a', 'b'])
})

it('knows who was alone all the time', async () => {
  const { enter, end, turns } = stage()
  await enter('a')
  void enter('b')
  void enter('c')
  const [first] = turns
  await end('answered')
  expect([first, ...turns].map(turn => turn?.isAlone())).toEqual([true, false, false])
})

it('is kept waiting by nobody who gave up before, and begins anew when nobody is left', async () => {
  const { enter, end, entered } = stage()
  const controller = new AbortController()
  await enter('a')
  const given = enter('b', controller.signal)
  void enter('c')
  controller.abort()
  await given
  await end('broken')
  await end('answered')
  expect(entered).toEqual(['a', 'b gave up', 'c'])
  for (const name of ['d', 'e', 'f']) void enter(name)
  await settled()
  expect(entered).toEqual(['a', 'b gave up', 'c', 'd'])
})
