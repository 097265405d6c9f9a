// @ts-check
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** @typedef {import('./figure.mjs').Figure | import('./figure.mjs').Gap} Figure */

const PART_PROCESS = fileURLToPath(new URL('part-process.mjs', import.meta.url))

/**
 * Measures one part in a process of its own: what another part left on the heap, or taught the optimiser, would count.
 * @param {object} task
 * @param {string} task.file The module of the part, as a URL.
 * @param {object} task.options What its `run` gets.
 * @param {string} [task.profileDir] Where a CPU profile goes.
 * @returns {Promise<Figure[]>}
 */
export function measureInChild({ file, options, profileDir }) {
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  const child = fork(PART_PROCESS, [], { execArgv: ['--expose-gc', ...profiling] })
  return new Promise((resolve, reject) => {
    /** @type {Figure[] | undefined} */
    let figures
    child.on('message', message => {
      figures = /** @type {Figure[]} */ (message)
    })
    child.on('error', reject)
    child.on('exit', code => (figures ? resolve(figures) : reject(new Error(`${file} ended with exit code ${code}.`))))
    child.send({ file, options })
  })
}
