import { expect, it } from 'vitest'
import type { Control, ReviewItem } from '../../../../contracts/index.ts'
import { NOTES } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

it('names what is held from now on of a server that was there before', async () => {
  const evil = { upstream: 'notes', kind: 'tool', name: 'evil', state: 'suspicious' } as ReviewItem
  let isAdded = false
  const control: Partial<Control> = {
    async addUpstream({ name, dryRun }) {
      isAdded ||= !dryRun
      const status = { ...NOTES, name }
      return { name, file: 'c.json', outcome: 'added', status, granted: [], secrets: [], problems: [] }
    },
    upstreams: async () => [NOTES],
    reviewItems: async () => (isAdded ? [evil] : []),
  }
  const { host, seen } = createFakeCliHost({ control })
  expect(await runCli(['add', 'mail', '--', 'mail-server'], host)).toBe(0)
  expect(seen.stdout).toContain(
    '! notes, which was there before: held for review from now on: tool:evil (quartermaster upstreams review notes)\n',
  )
})
