/**
 * How the keys and tokens of well-known services look, and addresses that let in whoever knows them. The one list for whoever looks
 * for secrets. Nothing ordinary has these forms: a prefix that is also a word wants a digit, or a piece that nobody writes by hand.
 */
export const SECRET_FORMS: readonly RegExp[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek, Stripe.
  /\b(?:sk|rk)[-_](?:(?:ant|admin|live|lf|or|proj|svcacct|test)[-_](?=[\w-]*\d)[\w-]{16,256}|(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{20,256})/,
  /\b(?:gh[opusr]|github_pat)_\w{16,256}/,
  /\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{16,256}/,
  // Slack.
  /\bxox[abcdeprs]-(?=[\w-]*\d)[\w-]{8,256}/,
  /\bxapp-[\w-]{8,256}/,
  // AWS, by the id: the key itself has no form.
  /\bA(?:KIA|SIA)[0-9A-Z]{16}\b/,
  // Google.
  /\bAIza[\w-]{30,64}/,
  /\bya29\.[\w-]{8,512}/,
  /\bGOCSPX-[\w-]{20,64}/,
  // JSON Web Tokens.
  /\beyJ[\w-]{8,4096}\.eyJ[\w-]{6,8192}(?:\.[\w-]{0,4096})?/,
  /\beyJ[\w-]{8,4096}(?:\.[\w-]{0,8192}){3}\.[\w-]{8,4096}/,
  // Ours: tokens, and codes by which somebody joins.
  /\bqm(?:join)?_[\w-]{43}/,
  // Notion, npm, Hugging Face, Figma, Shopify, Linear, DigitalOcean, Stripe, RubyGems, Grafana, Sentry, Replicate, Groq, Supabase …
  /\b(?:ntn|npm|hf|figd|shp(?:at|ss|ca|pa)|lin_api|do[opr]_v1|whsec|rubygems|glsa|glc|sntry[su]|r8|gsk|sbp|fm2|pscale_(?:tkn|pw)|lsv2_[ps][tk]|ATATT3x)[_-]?(?=[\w-]*\d)(?=[\w-]*[A-Za-z0-9]{12})[A-Za-z0-9][\w-]{19,512}/,
  // Those of Hugging Face may have letters alone, but never a second underscore.
  /\bhf_(?=[a-z]{0,40}[A-Z])[A-Za-z]{30,40}\b/,
  /\bsecret_(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{32,64}\b/,
  /\b(?:pypi|pplx|tvly|xai|xkeysib|PMAK|NRAK|HRKU|CFPAT|sq0csp)-(?=[\w-]*\d)[\w-]{16,256}/,
  /\bfc-[0-9a-f]{32}\b/,
  // Databricks, Mailchimp, Airtable, HashiCorp Vault, Doppler, age.
  /\bdapi[0-9a-f]{32}\b/,
  /\b[0-9a-f]{32}-us\d{1,2}\b/,
  /\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b/,
  /\bhv[sb]\.[\w-]{24,256}/,
  /\bdp\.(?:pt|st|ct|sa)\.[\w.-]{40,64}/,
  /\bAGE-SECRET-KEY-1[0-9A-Z]{40,64}/,
  // Docker, Tailscale, 1Password, Twilio.
  /\bdckr_(?:pat|oat)_[\w-]{20,64}/,
  /\btskey-[a-z]{1,16}-\w{8,64}-\w{8,64}/,
  /\bops_eyJ[\w-]{16,8192}/,
  /\bSK[0-9a-f]{32}\b/,
  // Mailgun, Facebook.
  /(?<![\w-])key-[0-9a-f]{32}\b/,
  /\bEAA(?=[A-Za-z]*\d)[A-Za-z0-9]{40,512}\b/,
  // SendGrid.
  /\bSG\.[\w-]{16,64}\.[\w-]{16,64}/,
  // Bots of Telegram and of Discord.
  /\b\d{6,12}:AA[\w-]{20,64}/,
  /\b[MNO](?=[\w-]*\d)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,64}/,
  /(?<before>\bhooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]{8,256}/i,
  /(?<before>\bdiscord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/)[\w/-]{8,256}/i,
  /(?<before>\b\w{1,64}\.webhook\.office\.com\/|\boutlook\.office\.com\/webhook\/)[\w/@-]{8,512}/i,
]
