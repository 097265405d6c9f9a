import { expect, it, onTestFinished } from 'vitest'
import type { ToolboxTool } from '../../contracts/index.ts'
import { createToolList } from './connection.ts'

function listOf(...names: string[]) {
  const told = { names, changes: 0 }
  const list = createToolList(async () => told.names.map(name => ({ name }) as ToolboxTool))
  list.listeners.add(() => told.changes++)
  return { list, told }
}

it('is the same list when it is looked at again and nothing has changed', async () => {
  const { list, told } = listOf('add')
  const first = await list.current()
  await list.lookAgain()
  expect([await list.current(), told.changes]).toEqual([first, 0])
  expect(await list.current()).toBe(first)
})

it('is another, and says so, when what was told before is not so any more', async () => {
  const { list, told } = listOf('add')
  await list.current()
  told.names = ['sum']
  await list.lookAgain()
  expect([(await list.current()).map(({ name }) => name), told.changes]).toEqual([['sum'], 1])
})

it('tells everybody, whoever of them throws', async () => {
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => void warnings.push(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const { list, told } = listOf('add')
  list.listeners.add(() => {
    throw new Error('mine')
  })
  let last = 0
  list.listeners.add(() => last++)
  list.changed()
  expect([told.changes, last]).toEqual([1, 1])
  await expect.poll(() => warnings).toEqual([expect.stringContaining('mine')])
})
