#!/bin/bash
# Checks published web builds: no error may be reported of what is whole, streamlit's folder (152 files, 23 MB) may
# take 2 s, and each of its scripts that is taken away has to be missed.
# CHECK_MORE=1 also downloads thirteen other packages (220 MB) and prints what is found in them, to be judged by people.
. "$(dirname "$0")/lib.sh"
needs python3
fetch_inputs
base=https://m.example.com/app/
failed=0

# check FOLDER [OPTIONS…]: errors, warnings and files; the findings are in $work/findings.
check() {
  xcache check "$@" --base-url $base --json >"$work/findings" || [ $? = 3 ] || fail "check ended with $?"
}
count() { field "$1" <"$work/findings"; }
show() {
  python3 -c 'import json, sys
for f in json.load(sys.stdin)["findings"]:
    place = ":".join(str(f[k]) for k in ("file", "line", "column") if f[k] is not None).replace(sys.argv[1] + "/", "")
    print("    ", (place + ": " if place else "") + f["severity"] + ": " + f["message"], "[" + f["rule"] + "]")' \
    "$1" <"$work/findings"
}

for input in streamlit-1.49.0 streamlit-1.49.1 streamlit-1.50.0 swagger-ui-1.1.0; do
  check "$inputs/$input"
  printf '%-18s %s errors, %s warnings in %s files\n' $input "$(count errors)" "$(count warnings)" "$(count files)"
  show "$inputs/$input"
  [ "$(count errors)" = 0 ] || failed=1
done

times=()
for _ in 1 2 3 4 5 6 7; do
  begin=$(now)
  check "$inputs/streamlit-1.49.0"
  times+=($(($(now) - begin)))
done
sorted=($(printf '%s\n' "${times[@]}" | sort -n))
took=$(seconds "${sorted[3]}")
echo "streamlit-1.49.0: median of 7 checks $took s ($(seconds "${sorted[0]}")–$(seconds "${sorted[6]}")), bar 2 s," \
  "load $(cut -d' ' -f1 /proc/loadavg)"
at_most "$took" 2 || failed=1

missed=0 found=0
while read -r script; do
  if xcache check "$inputs/streamlit-1.49.0" --base-url $base --exclude "/$script" >"$work/one"; then
    echo "not missed: $script"
    missed=$((missed + 1))
  else
    found=$((found + 1))
  fi
done < <(cd "$inputs/streamlit-1.49.0" && find . -name '*.js' -o -name '*.css' | sed 's|^\./||' | sort)
echo "streamlit-1.49.0: of its scripts and style sheets, each taken away alone, $found are missed, $missed aren't"
[ $missed = 0 ] || failed=1

if [ -n "${CHECK_MORE:-}" ]; then
  more() {
    fetch "$1" "$2" "$1-$2" "$3"
    check "$inputs/$1-$2" --exclude '*.py'
    printf '%-24s %s errors, %s warnings in %s files\n' "$1 $2" "$(count errors)" "$(count warnings)" "$(count files)"
    show "$inputs/$1-$2" | grep ' error: ' || true
  }
  more bokeh 3.9.2 bokeh/server/static
  more dash 4.4.1 dash
  more gradio 6.31.0 gradio/templates
  more jupyterlab 4.6.6 jupyterlab/static
  more kedro-viz 12.5.0 kedro_viz/html
  more label-studio 1.23.2 label_studio
  more mkdocs-material 9.8.1 material/templates
  more mlflow 3.18.0 mlflow/server/js/build
  more nbclassic 1.3.3 nbclassic/static
  more notebook 7.6.5 notebook/static
  more panel 1.9.4 panel/dist
  more sphinx-rtd-theme 3.1.0 sphinx_rtd_theme
  more tensorboard 2.21.0 tensorboard
fi
exit $failed
