import { describe, expect, it } from 'vitest'
import { withoutPlace } from './bundler.ts'

const bundleIn = (root: string, line = 1) => {
  const map = JSON.stringify({ version: 3, sourceRoot: `file://${root}/`, sources: ['a.js'], mappings: `A;${line}` })
  const meta = JSON.stringify({ dirname: `${root}/capabilities`, url: `file://${root}/capabilities/a.js` })
  return `const meta=${meta};\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}\n`
}

describe('what a bundle is known by', () => {
  it('does not depend on the folder it was made in', () => {
    expect(withoutPlace(bundleIn('/srv/one'), '/srv/one')).toBe(
      withoutPlace(bundleIn('/home/ada/two'), '/home/ada/two'),
    )
  })

  it('depends on everything else, also on where its lines were', () => {
    expect(withoutPlace(bundleIn('/srv/one', 1), '/srv/one')).not.toBe(
      withoutPlace(bundleIn('/srv/one', 2), '/srv/one'),
    )
    expect(withoutPlace('const a = 1', '/')).toBe('const a = 1')
  })
})
