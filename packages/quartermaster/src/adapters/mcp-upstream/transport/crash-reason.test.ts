import { expect, it } from 'vitest'
import { reasonIn } from './program-output.ts'

it.each([
  [
    'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.',
    "Run 'docker run --help' for more information",
  ],
  ['TypeError: x is not a function', '    at a (b.js:1:1)', 'Node.js v20.20.0'],
  ['npm error 404 Not Found', 'npm error A complete log of this run can be found in: /x'],
])('takes the line that says what is wrong: %s', (...lines) => {
  expect(reasonIn(['Server starts', ...lines])).toBe(lines[0])
})

it('takes the last line with a word in it where none says that anything is wrong', () => {
  expect(reasonIn(['Reading', 'A key is needed', '  at start (a.js:1:1)', '}', '---'])).toBe('A key is needed')
})
