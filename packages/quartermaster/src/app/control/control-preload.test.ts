import { expect, it } from 'vitest'
import { AppError, type Control, type ControlOperation } from '../../contracts/index.ts'
import { type PreloadDeps, withPreload } from './control-preload.ts'

const LOCKED = new AppError('STORE_LOCKED', 'The data folder belongs to another process.')
const UNUSABLE = new AppError('CONFIG_INVALID', 'The data folder cannot be written.')
const ON = { onProgress() {} }

/** The control of a command that could not read the stored listings, and the outcomes of reading them later. */
function preloadFixture(...outcomes: (Error | undefined)[]) {
  const done: string[] = []
  const names: ControlOperation[] = ['tools', 'tool', 'checkAgent', 'call', 'status', 'doctor']
  const answers = names.map(name => [name, async () => (done.push(name), name)])
  const deps = {
    core: { catalogue: { current: () => ({ tools: new Map([['known', {}]]) }) } },
    connectAll: async () => void done.push('connect'),
    async readListings() {
      done.push('read')
      const outcome = outcomes.shift()
      if (outcome) throw outcome
    },
  }
  const control = Object.fromEntries(answers) as unknown as Control
  return { control: withPreload(control, deps as unknown as PreloadDeps), done }
}

const OPERATIONS: Record<string, (control: Control) => Promise<unknown>> = {
  tools: control => control.tools({}, ON),
  checkAgent: control => control.checkAgent({ name: 'ada' }, ON),
  call: control => control.call({ agent: 'ada', tool: 'toy_slow' }),
}

it.each(Object.keys(OPERATIONS))('says that the store is locked before it calls a tool missing: %s', async name => {
  const { control, done } = preloadFixture(LOCKED)
  await expect(OPERATIONS[name]?.(control)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
  expect(await OPERATIONS[name]?.(control)).toBe(name)
  expect(done).toEqual(['read', 'read', name])
})

it('reads nothing for a known tool, for `status` and `doctor`, or for a shell that completes a word', async () => {
  const { control, done } = preloadFixture(LOCKED)
  await control.call({ agent: 'ada', tool: 'known' }, ON)
  await control.status({}, ON)
  await control.doctor({}, ON)
  await control.tools({})
  expect(done).toEqual(['call', 'status', 'connect', 'doctor', 'tools'])
})

it('hides no tool because of another fault of the store, and reports it for a call of a missing one', async () => {
  const { control } = preloadFixture(UNUSABLE, UNUSABLE)
  expect(await OPERATIONS['tools']?.(control)).toBe('tools')
  await expect(OPERATIONS['call']?.(control)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})
