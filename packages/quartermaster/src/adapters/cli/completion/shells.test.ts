import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCliProcess } from '../../../testing/build-cli-process.ts'
import { completionScript, SHELLS } from './completion.ts'

const run = promisify(execFile)
const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

let program: Awaited<ReturnType<typeof buildCliProcess>>
beforeAll(async () => {
  program = await buildCliProcess()
  await Promise.all(SHELLS.map(shell => writeFile(join(program.dir, `completion.${shell}`), completionScript(shell))))
  await writeFile(join(program.dir, 'config.json'), '{}')
})
afterAll(() => program.remove())

/** What bash would offer at the end of a line: it is given what readline gives, its own word breaks included. */
async function inBash(line: string): Promise<string[]> {
  const driver = `
    source ./completion.bash
    COMP_LINE="$1" COMP_POINT=\${#1}
    IFS=$' \\t\\n=:' read -r -a COMP_WORDS <<< "$1"
    COMP_CWORD=\${#COMP_WORDS[@]}
    [[ $(complete -p quartermaster) == *'-F _quartermaster'* ]] || exit 9
    _quartermaster quartermaster
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const env = { ...process.env, PATH: `${program.dir}:${process.env.PATH}` }
  const { stdout } = await run('bash', ['--norc', '-c', driver, 'bash', line], { cwd: program.dir, env })
  return stdout.split('\n').filter(word => word !== '')
}

describe.skipIf(!has('bash'))('in a real bash', () => {
  it.each([
    { line: 'quartermaster sta', words: ['status'] },
    { line: 'quartermaster tools --state ', words: ['active', 'disabled'] },
    { line: 'quartermaster call wea', words: ['weather'] },
    { line: 'quartermaster do weather --at n', words: ['now', 'next\\ week'] },
    // Bash holds `--state=` and `dependency:` to be typed already, so only the rest is offered.
    { line: 'quartermaster tools --state=d', words: ['disabled'] },
    { line: 'quartermaster recheck dependency:f', words: ['forecast'] },
    { line: 'quartermaster --config conf', words: ['config.json'] },
    { line: 'quartermaster call weather ', words: [] },
  ])('"$line" completes to $words', async ({ line, words }) => {
    expect(await inBash(line)).toEqual(words)
  })
})

describe.each(SHELLS.map(shell => ({ shell })))('the script for $shell', ({ shell }) => {
  it.skipIf(!has(shell))('is right by its syntax', async () => {
    await expect(run(shell, ['-n', join(program.dir, `completion.${shell}`)])).resolves.toMatchObject({ stderr: '' })
  })
})
