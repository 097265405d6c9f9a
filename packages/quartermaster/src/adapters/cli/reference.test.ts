import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cliReference } from './index.ts'

const page = new URL('../../../../../docs/reference/cli.md', import.meta.url)

describe('docs/reference/cli.md', () => {
  it('is what the program says of itself (UPDATE_GOLDEN=1 writes it anew)', () => {
    const reference = cliReference()
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(page, reference)
    expect(readFileSync(page, 'utf8')).toBe(reference)
  })

  it('has every command', () => {
    expect([...cliReference().matchAll(/^## (.+)$/gm)].map(match => match[1])).toEqual([
      'quartermaster',
      'quartermaster up',
      'quartermaster init',
      'quartermaster connect',
      'quartermaster add',
      'quartermaster remove',
      'quartermaster import',
      'quartermaster upstreams',
      'quartermaster upstreams show',
      'quartermaster upstreams review',
      'quartermaster upstreams accept',
      'quartermaster upstreams reject',
      'quartermaster upstreams restart',
      'quartermaster tools',
      'quartermaster capabilities',
      'quartermaster agents',
      'quartermaster agents check',
      'quartermaster grant',
      'quartermaster tokens',
      'quartermaster tokens create',
      'quartermaster tokens revoke',
      'quartermaster tokens rotate',
      'quartermaster organisations',
      'quartermaster organisations list',
      'quartermaster organisations create',
      'quartermaster workspaces',
      'quartermaster workspaces list',
      'quartermaster workspaces show',
      'quartermaster workspaces create',
      'quartermaster workspaces archive',
      'quartermaster workspaces restore',
      'quartermaster join-codes',
      'quartermaster join-codes create',
      'quartermaster join-codes list',
      'quartermaster join-codes revoke',
      'quartermaster persons',
      'quartermaster persons list',
      'quartermaster persons remove',
      'quartermaster memory',
      'quartermaster memory list',
      'quartermaster memory show',
      'quartermaster memory forget',
      'quartermaster delegations',
      'quartermaster delegations list',
      'quartermaster delegations show',
      'quartermaster delegations cancel',
      'quartermaster call',
      'quartermaster recheck',
      'quartermaster reload',
      'quartermaster status',
      'quartermaster operations',
      'quartermaster operations list',
      'quartermaster operations show',
      'quartermaster operations retry',
      'quartermaster operations cancel',
      'quartermaster operations drop',
      'quartermaster operations verify',
      'quartermaster approvals',
      'quartermaster approvals list',
      'quartermaster approvals show',
      'quartermaster approvals allow',
      'quartermaster approvals deny',
      'quartermaster approvals answer',
      'quartermaster grants',
      'quartermaster grants list',
      'quartermaster grants revoke',
      'quartermaster logs',
      'quartermaster login',
      'quartermaster logout',
      'quartermaster store',
      'quartermaster store move',
      'quartermaster doctor',
      'quartermaster completion',
    ])
  })
})
