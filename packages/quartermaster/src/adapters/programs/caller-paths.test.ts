import { expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { createSystemClock } from '../system/index.ts'
import { pathInCallerTexts } from './caller-paths.ts'

it.each([
  ['a long text of little', 'a='.repeat(100_000)],
  ['a long run of blanks', `x${' '.repeat(100_000)}y = z`.repeat(2)],
  ['a table', Array.from({ length: 2_000 }, (_, i) => Array.from({ length: 10 }, (_, k) => `c${i}x${k}`)).join('\n')],
])('looks through %s, and lets everybody else have their turn meanwhile', async (_, value) => {
  const { dir, path } = await tempProject({ '.quartermaster/admin.token': 'x' })
  const lead = (text: string) =>
    pathInCallerTexts([{ parameter: 'a', text, from: 'input' }], {
      base: dir,
      home: '/nowhere',
      dataDir: path('.quartermaster'),
      clock: createSystemClock(),
    })
  expect(await lead(value)).toEqual({ kind: 'elsewhere' })
  const piece = '.quartermaster/admin.token'
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  expect(await lead(`${value}\n${piece}`)).toEqual({ kind: 'dataFolder', parameter: 'a', piece })
  clearInterval(counting)
  expect(turns).toBeGreaterThan(0)
})
