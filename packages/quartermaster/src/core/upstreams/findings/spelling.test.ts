import { describe, expect, it } from 'vitest'
import { compareNames } from '../index.ts'
import { foundByRules } from './testing/found-by-rules.ts'

/** What is told of a tool beside somebody else's `read_file`. */
function found(name: string, ...siblings: string[]) {
  return foundBeside(['read_file'], name, ...siblings)
}

function foundBeside(others: readonly string[], name: string, ...siblings: string[]) {
  const names = compareNames({ siblings: new Set([name, ...siblings]), others: new Set(others) })
  return foundByRules({ name }, names).map(({ rule, strength }) => `${strength} ${rule}`)
}

describe('a name that differs from the tool of somebody else in case or separators', () => {
  it('is worth a look, and nothing where its server writes most names like that', () => {
    expect(found('read-file', 'list-files', 'move-file')).toEqual(['weak lookalike'])
    expect(found('read-file', 'list-files', 'move-file', 'make-folder', 'stat')).toEqual([])
    expect(found('readFile', 'listFiles', 'moveFile', 'makeFolder', 'stat')).toEqual([])
    expect(found('read-file', 'list_files', 'move_file', 'make_folder', 'stat-file', 'drop-file')).toHaveLength(1)
  })

  it('is worth a look where any of several that it is like is written in the same way', () => {
    const siblings = ['listFiles', 'moveFile', 'makeFolder', 'stat']
    expect(foundBeside(['read_file', 'ReadFile'], 'readFile', ...siblings)).toEqual([])
    expect(foundBeside(['read_file', 'readfile'], 'readFile', ...siblings)).toEqual(['weak lookalike'])
  })

  it.each(['read__file', 'read_file_', '_read_file', 're_ad_file', 'readfile'])(
    'is worth a look where that is in this name alone: %s',
    name => {
      expect(found(name, 'list_files', 'move_file', 'make_folder', 'stat_file')).toEqual(['weak lookalike'])
    },
  )
})
