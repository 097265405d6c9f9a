// @ts-check
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** @typedef {import('./figure.mjs').Figure | import('./figure.mjs').Gap} Figure */

const PART_PROCESS = fileURLToPath(new URL('part-process.mjs', import.meta.url))

/**
 * @typedef {object} Task
 * @property {string} file The module of the part, as a URL.
 * @property {object} options What its `run` gets.
 */

/** Measures one part in this process. @param {Task} task @returns {Promise<Figure[]>} */
export async function measureHere({ file, options }) {
  // The timers of a core never keep a process.
  const stay = setInterval(() => {}, 60_000)
  try {
    const { run } = await import(file)
    return await run(options)
  } finally {
    clearInterval(stay)
  }
}

/**
 * Measures one part in a process of its own: what another part left on the heap, or taught the optimiser, would count.
 * @param {Task & { profileDir?: string }} task with where a CPU profile goes
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
