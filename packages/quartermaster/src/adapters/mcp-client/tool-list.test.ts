import { expect, it, onTestFinished } from 'vitest'
import type { ToolboxTool } from '../../contracts/index.ts'
import { createToolList } from './connection.ts'

function listOf(...names: string[]) {
  const told = { names, changes: 0 }
  const list = createToolList(async () => told.names.map(name => ({ name }) as ToolboxTool))
  list.listeners.add(() => told.changes++)
  return { list, told }
}

it('returns the same array after a refresh without changes', async () => {
  const { list, told } = listOf('add')
  const first = await list.current()
  await list.refresh()
  expect([await list.current(), told.changes]).toEqual([first, 0])
  expect(await list.current()).toBe(first)
})

it('notifies of a changed list after a refresh', async () => {
  const { list, told } = listOf('add')
  await list.current()
  told.names = ['sum']
  await list.refresh()
  expect([(await list.current()).map(({ name }) => name), told.changes]).toEqual([['sum'], 1])
})

it('notifies every listener, even when one throws', async () => {
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
