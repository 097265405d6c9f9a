import { expect, it } from 'vitest'
import type { LeftBehind } from '../../adapters/mcp-upstream/index.ts'
import { leftBehindFindings } from './doctor.ts'

function found(all: LeftBehind[], databaseUrl?: string) {
  const storeChoice = { databaseUrl, sealingKey: undefined }
  return leftBehindFindings({ upstreams: { leftBehind: async () => all }, project: { storeChoice } })
}

it('warns of logins that nobody uses, and says how to be rid of them', async () => {
  expect(
    await found([
      { name: 'desk', pins: 3, logins: 1 },
      { name: 'mail', pins: 0, logins: 2 },
    ]),
  ).toEqual([
    {
      level: 'warning',
      what: 'There is a login at "desk", and the configuration has no such upstream, so no agent uses it.',
      fix: 'Put its entry back, or forget all that is known of it: quartermaster remove desk',
    },
    {
      level: 'warning',
      what: 'There are 2 logins at "mail", and the configuration has no such upstream, so no agent uses them.',
      fix: 'Put its entry back, or forget all that is known of it: quartermaster remove mail',
    },
  ])
})

it('takes into account that another node may have the entry', async () => {
  expect(await found([{ name: 'desk', pins: 3, logins: 1 }], 'postgresql://host/db')).toEqual([
    {
      level: 'warning',
      what: 'There is a login at "desk", and the configuration has no such upstream, so no agent here uses it.',
      fix:
        'Where another node on this database has it, leave it. Otherwise put its entry back, or forget all that is known of it: ' +
        'quartermaster remove desk',
    },
  ])
})

it('says of pins too that another node may have the entry', async () => {
  const what =
    'There are pins of "desk", and the configuration has no such upstream. They count again when it has; to have them ' +
    'forgotten, where no other node on this database has it: quartermaster remove desk'
  expect(await found([{ name: 'desk', pins: 3, logins: 0 }], 'postgresql://host/db')).toEqual([{ level: 'ok', what }])
})

it('notes pins in one line, because nothing is wrong with them', async () => {
  const pinned = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(name => ({ name, pins: 1, logins: 0 }))
  expect(await found([...pinned, { name: 'seen', pins: 0, logins: 0 }])).toEqual([
    {
      level: 'ok',
      what:
        'There are pins of "a", "b", "c", "d", "e" and 2 more, and the configuration has no such upstream. They count again ' +
        'when it has; to have them forgotten: quartermaster remove NAME',
    },
  ])
})

it('finds nothing where the store cannot be read, which is told of by others', async () => {
  const leftBehind = () => Promise.reject(new Error('The store is damaged.'))
  const project = { storeChoice: { databaseUrl: undefined, sealingKey: undefined } }
  expect(await leftBehindFindings({ upstreams: { leftBehind }, project })).toEqual([])
})
