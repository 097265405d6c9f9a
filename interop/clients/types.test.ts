import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../../packages/quartermaster/src/testing/temp-project.ts'
import { complaintsOfCompiler } from '../support/compiles.ts'

// The product's sources are checked with everything else; here the types of its build stand for them.
it('agrees with the types of the packages it drives', async () => {
  expect(await complaintsOfCompiler(fileURLToPath(new URL('..', import.meta.url)))).toBe('')
})

const VERSIONS = {
  'TypeScript 5.6': '../node_modules/typescript-5.6/bin/tsc',
  'TypeScript 5.9': '../node_modules/typescript-5.9/bin/tsc',
  'TypeScript 7': '../../node_modules/typescript/bin/tsc',
}

describe.each(Object.entries(VERSIONS))('a program of %s that checks the libraries as well', (version, compiler) => {
  it('has no error with the types of quartermaster, quartermaster/probes and quartermaster/prompt', async () => {
    const program = `
      import { createQuartermaster, defineTool, type Toolbox } from 'quartermaster'
      import { allOf } from 'quartermaster/probes'
      import { renderPrompt } from 'quartermaster/prompt'
      const wrong: number = defineTool
      export const used = [createQuartermaster, allOf, renderPrompt, wrong] satisfies unknown[]
      export type Used = Toolbox`
    expect(await compile(compiler, program)).toEqual(['program.ts TS2322'])
  })

  // Packages of others have errors of their own when they are checked.
  it.skipIf(version === 'TypeScript 5.6')('finds no error in our types for the runtimes of others', async () => {
    const program = `
      import { aiTools } from 'quartermaster/ai'
      import { langchainTools } from 'quartermaster/langchain'
      import { agentTools } from 'quartermaster/openai'
      export const used = [aiTools, langchainTools, agentTools]`
    expect((await compile(compiler, program)).filter(error => /^program|quartermaster\/dist/.test(error))).toEqual([])
  })
})

/** The errors of a program, each as a file and a code. */
async function compile(compiler: string, program: string): Promise<string[]> {
  const { dir, path } = await tempProject()
  await writeFile(path('package.json'), '{ "type": "module" }')
  await writeFile(path('program.ts'), program)
  await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), path('node_modules'), 'junction')
  const tsc = fileURLToPath(new URL(compiler, import.meta.url))
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
    'program.ts',
  ]
  return new Promise(resolve => {
    execFile(process.execPath, [tsc, ...options], { cwd: dir }, (_error, stdout) =>
      resolve([...stdout.matchAll(/^(\S+?)\(\d+,\d+\): error (TS\d+)/gm)].map(([, file, code]) => `${file} ${code}`)),
    )
  })
}
