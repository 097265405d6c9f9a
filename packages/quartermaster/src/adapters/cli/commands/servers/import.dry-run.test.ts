import { describe, expect, it } from 'vitest'
import type { Problem, UpstreamStatus } from '../../../../contracts/index.ts'
import { NOTES } from '../../../../testing/cli-fixtures.ts'
import { runImport as run } from '../../../../testing/import-fixture.ts'

describe('import that is only tried', () => {
  it('only shows what it would do, when asked to', async () => {
    const { code, asked, stdout } = await run(['claude', '--dry-run', '--pin'])
    // The one before it is not there, and counts as if it were.
    const { name, entry, secrets } = asked[0] ?? {}
    const before = { name, entry, secrets, missing: [] }
    expect(asked.map(({ dryRun }) => dryRun)).toEqual([{ beside: [] }, { beside: [before] }])
    expect(code).toBe(0)
    expect(stdout).toContain('+ git-hub (Claude Desktop, "git hub" there)\n  Runs: gh\n')
    expect(stdout).toContain('  Would be given to default.\n  Would be kept in the secrets file: TOKEN.\n')
    expect(stdout).toContain('+ files (Claude Desktop)')
    expect(stdout).toContain('Would be pinned: files@3.0.0.')
    expect(stdout).toMatch(/0 imported, 2 would be imported, 1 skipped\.\n$/)
  })

  it('shows what would be skipped or fail, and ends as it would', async () => {
    const skipped = await run(['claude', '--dry-run'], { taken: ['git-hub'], outcomes: { files: 'unchanged' } })
    expect(skipped.code).toBe(0)
    expect(skipped.stdout).toContain('- git-hub (Claude Desktop, "git hub" there): There is another upstream')
    expect(skipped.stdout).toContain('= files (Claude Desktop): it is there already\n')
    expect(skipped.stdout).toMatch(/\n0 imported, 1 there already, 2 skipped\.\n$/)
    const failed = await run(['claude', '--dry-run', '--json'], {
      broken: ['git-hub'],
      outcomes: { files: 'replaced' },
    })
    expect(failed.code).toBe(1)
    expect(JSON.parse(failed.stdout)).toMatchObject({
      servers: [
        { as: 'git-hub', outcome: 'failed', reason: '"git-hub" would not be right.', granted: [], secrets: [] },
        { as: 'files', outcome: 'wouldBeReplaced' },
        { as: 'old', outcome: 'skipped' },
      ],
    })
  })

  it.each([
    ['added', ': it would be off: It is switched off here'],
    ['replaced', ': it would take the place of the one that is there, and would be off: It is switched off here'],
    ['unchanged', ': it is there already, and is off: It is switched off here'],
  ] as const)('marks what would be switched off as what is: %s', async (outcome, text) => {
    const wouldBe: UpstreamStatus = { ...NOTES, state: 'off', reason: 'It is switched off here.' }
    const { code, stdout } = await run(['claude', 'files', '--dry-run'], { outcomes: { files: outcome }, wouldBe })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`! files (Claude Desktop)${text}\n`) })
  })

  it('shows which secrets would go with what is replaced', async () => {
    const given = { granted: [], removedSecrets: ['A', 'D'], keptSecrets: [{ name: 'B', usedBy: ['c.json'] }] }
    const { stdout } = await run(['claude', 'files', '--dry-run'], { given, outcomes: { files: 'replaced' } })
    expect(stdout).toContain(
      '  Would be taken out of the secrets file: A, D.\n  Would stay in the secrets file: B, named in c.json.\n',
    )
  })

  it('shows what would stay of an entry that is replaced, and what would not', async () => {
    const keptVersions = { files: 'files@3.0.0' }
    const given = { granted: [], keptSettings: ['leaveOut', 'agents'], goneSettings: ['oauth'], keptVersions }
    const look = (outcome: 'replaced' | 'unchanged', ...more: string[]) =>
      run(['claude', 'files', '--dry-run', ...more], { given, outcomes: { files: outcome } })
    const { stdout } = await look('replaced')
    expect(stdout).toContain(
      '  Would stay in its entry: leaveOut, agents.\n  Would go from its entry, because it would be reached in another way: oauth.\n  Would stay in its version: files@3.0.0.\n',
    )
    expect(stdout).not.toContain('has no version')
    expect((await look('unchanged')).stdout).toContain('  Stays in its version: files@3.0.0.\n')
    const { servers } = JSON.parse((await look('replaced', '--json')).stdout)
    expect(servers).toMatchObject([{ keptSettings: ['leaveOut', 'agents'], goneSettings: ['oauth'], keptVersions }])
  })

  it('promises nothing that is so already', async () => {
    const given = { granted: [], alsoHave: ['default'] }
    const { stdout } = await run(['claude', 'git hub', '--dry-run'], { given, outcomes: { 'git-hub': 'unchanged' } })
    expect(stdout).toContain(': it is there already\n  Still with: default.\n  Kept in the secrets file: TOKEN.\n')
    expect(stdout).not.toContain('Would be given')
  })

  it('shows who would get it and what would keep it from working, and makes the first agent once', async () => {
    const message = 'The environment variable "NOPE" is not set.'
    const problems: Problem[] = [{ severity: 'error', code: 'CONFIG_INVALID', where: 'c.json', message }]
    const given = { granted: ['default'], madeAgent: 'default' }
    const { stdout } = await run(['claude', '--dry-run'], { given, problems })
    expect(stdout).toContain('  Would be given to default (made then, as the first agent here')
    expect(stdout).toMatch(/^! git-hub /)
    expect(stdout).toContain(message)
    expect(stdout.match(/made then/g)).toHaveLength(1)
    expect((await run(['claude', '--dry-run', '--no-grant'], { given: { granted: [] } })).stdout).toContain(
      '  Would be given to no agent.\n',
    )
  })
})
